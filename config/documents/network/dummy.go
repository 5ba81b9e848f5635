// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// DummyLinkConfig creates a dummy link: one without a network behind it, for addresses that are always up.
type DummyLinkConfig struct {
	document.Named `yaml:",inline"`
	// Hardware address of the link; without one the kernel chooses it.
	HardwareAddr value.HardwareAddr `yaml:"hardwareAddr,omitempty"`

	LinkSettings `yaml:",inline"`
}

var dummy = document.Of[DummyLinkConfig]("DummyLinkConfig", `apiVersion: v1alpha1
kind: DummyLinkConfig
name: dummy0
addresses:
    - address: 192.0.2.100/32
`)

// Validate implements document.Validator.
func (d *DummyLinkConfig) Validate(r *document.Report) { d.validate(r, "") }
