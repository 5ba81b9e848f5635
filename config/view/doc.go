// SPDX-License-Identifier: Apache-2.0

// Package view is what a configuration says, whichever of its documents says it.
//
//	cfg := view.Of(decoded)
//	cfg.Hostname()            // of the document HostnameConfig, or of machine.network.hostname
//	cfg.APIServer().Image     // the default where the configuration is silent
//
// Controllers read the view, and a test holds that none of them reads a document (test/house). So a new kind of document is
// one accessor here that merges what it says with what others say, and no change elsewhere. Which document wins, and what is true
// where all are silent, is decided in the accessors and nowhere else.
//
// The values are still the parts of the main document, under the names that are given to them here (values.go). A document
// that says the same in another form makes the value a type of this package.
//
// An accessor is a plain method that reads fields: package config/effects/derive follows calls of accessors to the keys that they
// read, and so knows which keys have an effect. A view that copied all documents into one value would hide that.
//
// Package config/validate reads the documents, not the view: it names the key of a document that is wrong.
package view
