// SPDX-License-Identifier: Apache-2.0

package config

import (
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Document is one document of a configuration.
type Document interface {
	Kind() string
	Name() string
}

// Config is a decoded configuration.
type Config struct {
	text      []byte
	documents []Document
}

// Bytes is the text that the configuration was decoded from. It must not be changed.
func (c *Config) Bytes() []byte { return c.text }

// Documents lists the documents in the order of the text.
func (c *Config) Documents() []Document { return c.documents }

// Main is the v1alpha1 document, or nil.
func (c *Config) Main() *v1alpha1.Config { return find[*v1alpha1.Config](c) }

// Machine is the machine's part of the main document, or nil when there is none.
func (c *Config) Machine() *v1alpha1.MachineConfig {
	if main := c.Main(); main != nil {
		return &main.Machine
	}

	return nil
}

// Cluster is the cluster's part of the main document, or nil when there is none.
func (c *Config) Cluster() *v1alpha1.ClusterConfig {
	if main := c.Main(); main != nil {
		return &main.Cluster
	}

	return nil
}

// Hostname is the HostnameConfig document, or nil.
func (c *Config) Hostname() *v1alpha1.HostnameConfig { return find[*v1alpha1.HostnameConfig](c) }

// CompleteForBoot tells whether a machine can leave maintenance with this configuration: other documents
// alone are not enough.
func (c *Config) CompleteForBoot() bool { return c.Main() != nil }

// find returns the first document of a type, or the type's zero.
func find[T Document](c *Config) (zero T) {
	if c == nil {
		return zero
	}

	for _, d := range c.documents {
		if typed, ok := d.(T); ok {
			return typed
		}
	}

	return zero
}
