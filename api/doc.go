// SPDX-License-Identifier: Apache-2.0

// Package api holds the wire contracts: .proto files by service, with the generated Go beside them.
//
// Go code is generated for .proto files with a go_package. The definitions under resource/ have none: the operating system encodes
// resource specs by the struct tags of package resources, and clients in other languages compile these files themselves.
//
// Names, numbers and types are frozen, because existing clients use them. testdata/wire.txt lists all of them, one message a line,
// and a test compares the compiled descriptors with it. Comments may change.
package api

//go:generate go run ../cmd/generate/proto
