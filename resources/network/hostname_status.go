// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var hostnameStatusDefinition = domain.Alias("hostname").Type("HostnameStatuses", "Hostname={.hostname}", "Domainname={.domainname}")

// HostnameStatusSpec is the hostname that is in use.
type HostnameStatusSpec struct {
	Hostname   string `yaml:"hostname" protobuf:"1"`
	Domainname string `yaml:"domainname" protobuf:"2"`
}

// Definition implements resource.Spec.
func (HostnameStatusSpec) Definition() *resource.Definition { return hostnameStatusDefinition }

// FQDN returns the hostname with the domain name, if any.
func (s HostnameStatusSpec) FQDN() string { return joinName(s.Hostname, s.Domainname) }

// DNSNames returns the names of the machine: the short one and, if different, the full one.
func (s HostnameStatusSpec) DNSNames() []string {
	if s.Domainname == "" {
		return []string{s.Hostname}
	}

	return []string{s.Hostname, s.FQDN()}
}
