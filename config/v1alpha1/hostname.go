// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// HostnameConfig is the document that sets the machine's hostname, or how the machine chooses it.
type HostnameConfig struct {
	Header   `yaml:",inline"`
	Auto     string `yaml:"auto,omitempty"`
	Hostname string `yaml:"hostname,omitempty"`
}

// HostnameConfigKind is the kind of HostnameConfig.
const HostnameConfigKind = "HostnameConfig"

// Values of HostnameConfig.Auto.
const (
	// AutoStable derives a hostname from the machine's identity.
	AutoStable = "stable"
	// AutoOff derives none.
	AutoOff = "off"
)

// Name returns "": a configuration has one HostnameConfig.
func (*HostnameConfig) Name() string { return "" }

// NewHostnameConfig returns the document with its header.
func NewHostnameConfig() *HostnameConfig {
	return &HostnameConfig{Header: Header{APIVersion: Version, DocKind: HostnameConfigKind}}
}
