// SPDX-License-Identifier: Apache-2.0

// Package interop holds tests of package cosi against another implementation of the same protocol and semantics: its
// client and its conformance suites drive our server, as a process of its own. It is a module of its own, because both
// implementations register the same protobuf names and so can not be linked into one program, and because nothing of
// the other one may get into ours.
package interop
