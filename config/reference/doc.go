// SPDX-License-Identifier: Apache-2.0

// Package reference describes every key of every document: its type, limits, text and effect. From that come the page
// docs/configuration.md, the JSON schema docs/configuration.schema.json for editors, and configurations with comments (Annotate).
//
// The texts are the comments of the Go types; cmd/generate/documents collects them in comments.txt. The effect is derived by
// package effects. Tests hold both files and the texts current.
package reference

//go:generate go run ../../cmd/generate/documents
