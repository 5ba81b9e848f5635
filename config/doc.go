// SPDX-License-Identifier: Apache-2.0

// Package config decodes and encodes machine configurations.
//
// A configuration is a text of YAML documents: the main one (v1alpha1, without a kind) and others, each with a
// kind. Decode is strict: an unknown key, a value of the wrong type and a duplicate document are errors that
// name the document, the path, the line, the column and the likely fix. Decode keeps the text, so that a user
// who reads the configuration back finds the comments where they were.
//
//	cfg, err := config.Decode(text)
//	view.Of(cfg).PodSubnets()                // merged from all documents
//	config.Find[*network.HostnameConfig](cfg)  // one document, or nil
//	cfg.Bytes()                              // the text
//	text, err := config.Encode(documents...)
//
// A decoded Config is read-only: callers must not change the values it returns. The package does not depend on
// the kernel or the machine. Package config/validate checks what types cannot express, config/plan compares two
// configurations, config/patch patches them.
package config
