// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var dnsResolveCacheDefinition = domain.Type("DNSResolveCaches", "Status={.status}")

// DNSResolveCacheSpec is a listener of the machine's own DNS server. Its id is DNSResolveCacheID.
type DNSResolveCacheSpec struct {
	// Status is DNSRunning, or why the listener does not run.
	Status string `yaml:"status" protobuf:"1"`
}

// DNSRunning is the status of a listener that answers.
const DNSRunning = "running"

// Definition implements resource.Spec.
func (DNSResolveCacheSpec) Definition() *resource.Definition { return dnsResolveCacheDefinition }

// DNSResolveCacheID returns the id of a listener; the protocol is udp or tcp.
func DNSResolveCacheID(protocol string, addr netip.AddrPort) string {
	return protocol + "-" + addr.String()
}
