// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// HostnameConfig names the machine, or says how it names itself.
type HostnameConfig struct {
	document.Header `yaml:",inline"`
	// How the machine names itself: stable derives a name from its identity. With off, the name is the one in hostname, or comes from
	// DHCP or the platform.
	Auto AutoHostname `yaml:"auto,omitempty"`
	// The name, with or without a domain. It excludes auto: stable.
	Hostname value.Hostname `yaml:"hostname,omitempty"`
}

var hostname = document.Of[HostnameConfig]("HostnameConfig", `apiVersion: v1alpha1
kind: HostnameConfig
hostname: node-1.example.com
`, document.Replaces("machine.network.hostname", "machine.features.stableHostname"))

// NewHostnameConfig returns the document with its header.
func NewHostnameConfig() *HostnameConfig {
	return &HostnameConfig{Header: document.Header{APIVersion: document.APIVersion, DocKind: hostname.Name}}
}

// AutoHostname is how a machine names itself.
type AutoHostname string

// The ways.
const (
	// AutoHostnameStable derives a hostname from the machine's identity.
	AutoHostnameStable AutoHostname = "stable"
	// AutoHostnameOff derives none.
	AutoHostnameOff AutoHostname = "off"
)

// Values implements document.Enum.
func (AutoHostname) Values() []string {
	return document.EnumOf(AutoHostnameStable, AutoHostnameOff)
}

// Validate implements document.Validator.
func (h *HostnameConfig) Validate(r *document.Report) {
	switch {
	case h.Auto == "" && h.Hostname == "":
		r.Wrong("", "says nothing: set auto or hostname")
	case h.Auto == AutoHostnameStable && h.Hostname != "":
		r.Wrong("", "auto: stable and hostname %q exclude each other: keep one (a patch removes auto with \"auto: {$patch: delete}\", or sets it to off)", h.Hostname)
	}
}
