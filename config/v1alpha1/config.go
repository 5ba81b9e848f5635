// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import _ "embed"

// Example has every key of the document, as a person would write it. Some exclude each other.
//
//go:embed example.yaml
var Example string

// Version is the only version of documents.
const Version = "v1alpha1"

// Config describes the machine and its cluster. It is the main document, and the only one without a kind.
type Config struct {
	// The version of the document: always v1alpha1.
	Version string `yaml:"version"`
	// Whether the machine logs more.
	Debug *bool `yaml:"debug,omitempty"`
	// Whether the configuration is stored. It always is: false has no effect.
	Persist *bool `yaml:"persist,omitempty"`
	// The machine.
	Machine MachineConfig `yaml:"machine"`
	// The cluster that the machine belongs to.
	Cluster ClusterConfig `yaml:"cluster"`
}

// Kind returns the name of the document in messages. The document itself has no kind.
func (*Config) Kind() string { return Version }

// Name returns "": a configuration has one main document.
func (*Config) Name() string { return "" }
