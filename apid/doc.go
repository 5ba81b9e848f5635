// SPDX-License-Identifier: Apache-2.0

// Package apid is the machine's front door: a router on port 50000 that speaks mutual TLS 1.3 to the world and passes
// each call on, byte for byte, to machined's socket or, when the caller names another node in the `node` metadata, to
// the apid of that node.
//
// It runs as a process of its own, with its own user and no capabilities, and knows only what the resource socket
// shows it: its certificates, how to listen, and the addresses that are this node. All of it may change while calls
// run: each new connection is served by what is true then.
//
// Who a caller is stands in the client certificate, signed by one of the accepted CAs: the values of its subject's
// organization are the roles, which travel to machined in the `talos-role` metadata. Only another apid, whose
// certificate holds os:impersonator, may pass on the roles of its own caller.
package apid

// Port that apid listens on.
const Port = 50000

// UID that apid runs as; machined lets it use its socket.
const UID = 50

// RuntimeSocket shows apid the few resources that it needs, read-only.
const RuntimeSocket = "/system/run/apid/runtime.sock"

// Metadata keys of the API.
const (
	keyNode      = "node"
	keyNodes     = "nodes"
	keyProxyFrom = "proxyfrom"
	keyRole      = "talos-role"
)

// The roles that apid itself knows.
const (
	roleImpersonator = "os:impersonator"
	roleReader       = "os:reader"
)
