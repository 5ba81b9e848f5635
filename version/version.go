// SPDX-License-Identifier: Apache-2.0

// Package version identifies the build. The builder sets Tag, SHA and Built when it links a program (build/program/own.go); a
// plain `go build` has the defaults below.
package version

// Set by the linker.
var (
	// Tag is the release, with a leading v.
	Tag = "v0.1.0"
	// SHA is the abbreviated source revision, with the suffix -dirty if the tree had changes.
	SHA = "unknown"
	// Built is the time of that revision, RFC 3339, not of the link, so that builds are reproducible.
	Built = "unknown"
)

// Name is the product's name.
const Name = "Talos"
