// SPDX-License-Identifier: Apache-2.0

// Package config reads machine configurations.
//
// A configuration is a text of YAML documents: the main one (v1alpha1, without a kind) and others with a
// kind each. Decode reads it strictly: a key that is not known, a value of the wrong type, a document
// that stands twice, each is an error that names the document, the path, the line and column and the
// likely cure. The text itself is kept, so that a person who reads the configuration back finds the
// comments where they were.
//
//	cfg, err := config.Decode(text)
//	view.Of(cfg).PodSubnets()                // what the documents say together
//	config.Find[*network.HostnameConfig](cfg) // one document, nil when there is none
//	cfg.Bytes()                              // as it came
//	text, err := config.Encode(documents...)
//
// A Config never changes after it is decoded; nobody may change what it hands out. The package knows
// nothing of a kernel and little of a machine: what is right or wrong beyond types is the matter of
// config/validate, what changes between two configurations of config/plan, patching of config/patch.
package config
