// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Version is the only version of documents.
const Version = "v1alpha1"

// Config is the main document: the one without a kind.
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
