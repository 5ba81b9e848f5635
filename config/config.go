// SPDX-License-Identifier: Apache-2.0

package config

import "github.com/seed-59268b81/talos/config/document"

// Document is one document of a configuration.
type Document = document.Document

// Config is a decoded configuration.
type Config struct {
	text      []byte
	documents []Document
}

// Bytes returns the text that the configuration was decoded from. The caller must not change it.
func (c *Config) Bytes() []byte { return c.text }

// Documents returns the documents in the order of the text; none of nil.
func (c *Config) Documents() []Document {
	if c == nil {
		return nil
	}

	return c.documents
}

// Find returns the first document of a type, or nil. Code that applies a configuration uses config/view instead.
func Find[T Document](c *Config) (zero T) {
	for _, d := range c.Documents() {
		if typed, ok := d.(T); ok {
			return typed
		}
	}

	return zero
}

// All returns the documents of a type in the order of the text.
func All[T Document](c *Config) (all []T) {
	for _, d := range c.Documents() {
		if typed, ok := d.(T); ok {
			all = append(all, typed)
		}
	}

	return all
}
