// SPDX-License-Identifier: Apache-2.0

package config

import "github.com/seed-59268b81/talos/cosi/resource"

// FailureID is the id of the one failure of a machine.
const FailureID = "machine"

var failureDefinition = domain.Type("ConfigFailures", "Error={.error}")

// ConfigFailureSpec is why a configuration that was found cannot be used. It is there until a configuration is active.
type ConfigFailureSpec struct {
	// Error names the source of the configuration, and what is wrong with it.
	Error string `yaml:"error" protobuf:"1"`
}

// Definition implements resource.Spec.
func (ConfigFailureSpec) Definition() *resource.Definition { return failureDefinition }
