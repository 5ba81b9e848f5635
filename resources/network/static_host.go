// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var staticHostDefinition = domain.Type("StaticHosts", "Addresses={.addresses}")

// StaticHostSpec has the addresses of a name that the machine knows without a DNS server: its own name, and those of the configuration. Its id
// is the name.
type StaticHostSpec struct {
	Addresses []netip.Addr `yaml:"addresses" protobuf:"1"`
}

// Definition implements resource.Spec.
func (StaticHostSpec) Definition() *resource.Definition { return staticHostDefinition }
