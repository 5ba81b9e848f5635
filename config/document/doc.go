// SPDX-License-Identifier: Apache-2.0

// Package document has what all documents of a configuration share.
//
// A kind of documents is a Go struct that embeds Header, or Named if there may be several, and a Kind that describes it. Its
// fields say everything that a machine can check or print without knowing the kind:
//
//	MTU  uint32   `yaml:"mtu,omitempty" range:"68,65535"`   // limits, both included
//	Link string   `yaml:"link" required:"true"`             // must be set
//	Mode BondMode `yaml:"bondMode,omitempty"`               // BondMode has Values: an enum
//	Key  *Key     `yaml:"key,omitempty" protects:"true"`    // refused where it has no effect, as the machine would be less safe than its owner believes
//	Tags []string `yaml:"tags,omitempty" merge:"replace"`   // a patch replaces the list, instead of appending to it
//
// The comment of a field is its documentation in the reference, in the JSON schema and in configurations with comments. A document
// with rules that go beyond single fields is a Validator. What a kind does is in package view and the controllers that read it: package
// effects derives from these which fields are in effect.
package document
