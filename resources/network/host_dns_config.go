// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var hostDNSConfigDefinition = domain.Type("HostDNSConfigs", "Enabled={.enabled}", "Listen Addresses={.listenAddresses}")

// HostDNSConfigID is the id of the one HostDNSConfigSpec.
const HostDNSConfigID = "config"

// Addresses of the machine's own DNS server.
var (
	// HostDNSLoopback is the address for the machine itself.
	HostDNSLoopback = netip.MustParseAddrPort("127.0.0.53:53")
	// HostDNSAddress4 and HostDNSAddress6 are the addresses for pods. All machines have the same ones, and no machine can reach
	// those of another.
	HostDNSAddress4 = netip.MustParseAddr("169.254.116.108")
	HostDNSAddress6 = netip.MustParseAddr("fd54:616c:6f73::204f:5320:444e:531")
)

// HostDNSConfigSpec is the effective configuration of the machine's own DNS server.
type HostDNSConfigSpec struct {
	Enabled         bool             `yaml:"enabled" protobuf:"1"`
	ListenAddresses []netip.AddrPort `yaml:"listenAddresses,omitempty" protobuf:"2"`
	// ServiceHostDNSAddress and ServiceHostDNSAddressV6 are those for pods, if these ask the machine.
	ServiceHostDNSAddress   netip.Addr `yaml:"serviceHostDNSAddress" protobuf:"3"`
	ResolveMemberNames      bool       `yaml:"resolveMemberNames,omitempty" protobuf:"4"`
	ServiceHostDNSAddressV6 netip.Addr `yaml:"serviceHostDNSAddressV6" protobuf:"5"`
}

// Definition implements resource.Spec.
func (HostDNSConfigSpec) Definition() *resource.Definition { return hostDNSConfigDefinition }
