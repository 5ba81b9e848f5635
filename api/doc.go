// SPDX-License-Identifier: Apache-2.0

// Package api holds the wire contracts: .proto files by service, with the generated Go beside them.
//
// A .proto file with a go_package gets Go code; one without is a contract only. The definitions under resource/ have
// none: the operating system encodes resource specs by the struct tags of package resources, and clients in other
// languages compile these files themselves.
//
// Names, numbers and types are frozen, because clients older than this project speak them. testdata/wire.txt lists
// every one of them, a message a line, and a test compares the compiled descriptors with it. Comments are free to change.
package api

//go:generate go run ../cmd/generate/proto
