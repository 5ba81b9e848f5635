// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Version is the only version of documents there is.
const Version = "v1alpha1"

// Config is the main document: the one without a kind.
type Config struct {
	Version string        `yaml:"version"`
	Debug   *bool         `yaml:"debug,omitempty"`
	Persist *bool         `yaml:"persist,omitempty"`
	Machine MachineConfig `yaml:"machine"`
	Cluster ClusterConfig `yaml:"cluster"`
}

// Kind is the name of the document in messages; it is not written in the document itself.
func (*Config) Kind() string { return Version }

// Name is empty: there is one main document in a configuration.
func (*Config) Name() string { return "" }
