// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var dnsUpstreamDefinition = domain.Type("DNSUpstreams", "Address={.address}", "Protocol={.protocol}", "Order={.order}")

// DNSUpstreamSpec is a server that the machine's own DNS server asks. Its id is the address with the port.
type DNSUpstreamSpec struct {
	Address       netip.AddrPort         `yaml:"address" protobuf:"1"`
	Protocol      nethelpers.DNSProtocol `yaml:"protocol" protobuf:"2"`
	TLSServerName string                 `yaml:"tlsServerName,omitempty" protobuf:"3"`
	// Order is the place of the server, from 0: those with a smaller one are asked first.
	Order int `yaml:"order" protobuf:"4"`
}

// Definition implements resource.Spec.
func (DNSUpstreamSpec) Definition() *resource.Definition { return dnsUpstreamDefinition }
