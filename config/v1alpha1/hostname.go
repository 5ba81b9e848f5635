// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// HostnameConfig is a document that names the machine, or chooses how it names itself.
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
	// AutoOff makes none.
	AutoOff = "off"
)

// Name is empty: there is one HostnameConfig in a configuration.
func (*HostnameConfig) Name() string { return "" }

// NewHostnameConfig makes the document with its header.
func NewHostnameConfig() *HostnameConfig {
	return &HostnameConfig{Header: Header{APIVersion: Version, DocKind: HostnameConfigKind}}
}
