// SPDX-License-Identifier: Apache-2.0

// Package interop tests package cosi against the reference implementation of the same protocol and semantics: the client and
// the conformance suites of the reference run against our server in a process of its own. Interop is a separate module,
// because both implementations register the same protobuf names and cannot be linked into one program, and because no code
// of the reference may get into ours.
package interop
