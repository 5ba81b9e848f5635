// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var hostnameSpecDefinition = domain.Type("HostnameSpecs")

// HostnameSpecSpec is a name that one layer proposes.
type HostnameSpecSpec struct {
	Hostname   string      `yaml:"hostname" protobuf:"1"`
	Domainname string      `yaml:"domainname" protobuf:"2"`
	Layer      ConfigLayer `yaml:"layer" protobuf:"3"`
}

// Definition implements resource.Spec.
func (HostnameSpecSpec) Definition() *resource.Definition { return hostnameSpecDefinition }

// ID is the identity of the spec in namespace network.
func (HostnameSpecSpec) ID() string { return HostnameID }

// ConfigLayer is the layer that the spec comes from.
func (s HostnameSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }

// ParseFQDN sets the hostname and domain name from a name such as node.example.com.
func (s *HostnameSpecSpec) ParseFQDN(fqdn string) error {
	host, domain, _ := strings.Cut(strings.TrimSuffix(fqdn, "."), ".")

	for label := range strings.SplitSeq(joinName(host, domain), ".") {
		if err := checkLabel(label); err != nil {
			return fmt.Errorf("hostname %q: %w", fqdn, err)
		}
	}

	if len(fqdn) > 253 {
		return fmt.Errorf("hostname %q: longer than 253 bytes", fqdn)
	}

	s.Hostname, s.Domainname = host, domain

	return nil
}

// checkLabel returns an error unless a label is valid by RFC 1123: letters, digits and inner hyphens, at most 63 bytes.
func checkLabel(label string) error {
	if label == "" || len(label) > 63 {
		return fmt.Errorf("label %q: want 1 to 63 bytes between the dots", label)
	}

	for i, c := range []byte(label) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (c != '-' || i == 0 || i == len(label)-1) {
			return fmt.Errorf("label %q: want letters, digits and inner hyphens", label)
		}
	}

	return nil
}

func joinName(host, domain string) string {
	if domain == "" {
		return host
	}

	return host + "." + domain
}
