// SPDX-License-Identifier: Apache-2.0

// Package view merges the documents of a configuration into one read-only view.
//
//	cfg := view.Of(decoded)
//	cfg.Hostname()            // from the document HostnameConfig, or from machine.network.hostname
//	cfg.APIServer().Image     // the default if the configuration does not set it
//
// Controllers read the view. A test checks that they do not read documents (test/house). So a new kind of document needs one
// accessor here that merges its values with those of other documents, and no change elsewhere. The accessors decide which
// document wins and what the default is.
//
// The values are still parts of the main document, under the names in values.go. If a document has the same setting in another
// form, the value becomes a type of this package.
//
// An accessor is a plain method that reads fields: package config/effects/derive follows calls of accessors to find the keys that
// they read, and so knows which keys have an effect. It could not do that if the view copied all documents into one value.
//
// Package config/validate reads the documents, not the view, because its messages name the key of the document.
package view
