// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Version is the only version of documents.
const Version = "v1alpha1"

// Config is the main document: the one without a kind.
type Config struct {
	Version string        `yaml:"version"`
	Debug   *bool         `yaml:"debug,omitempty"`
	Persist *bool         `yaml:"persist,omitempty"`
	Machine MachineConfig `yaml:"machine"`
	Cluster ClusterConfig `yaml:"cluster"`
}

// Kind returns the name of the document in messages. The document itself has no kind.
func (*Config) Kind() string { return Version }

// Name returns "": a configuration has one main document.
func (*Config) Name() string { return "" }
