// SPDX-License-Identifier: Apache-2.0

// Package contract holds the facts that the two sides of the API must agree on, and that clients of today rely on: roles,
// metadata keys, ports, limits and sockets. A fact stands here and nowhere else; test/house holds that. It is data: it
// imports nothing but the folders of the machine.
package contract

import "github.com/seed-59268b81/talos/layout"

// Roles are organizations of a client's certificate.
const (
	RoleAdmin         = "os:admin"
	RoleOperator      = "os:operator"
	RoleReader        = "os:reader"
	RoleEtcdBackup    = "os:etcd:backup"
	RoleImageVerifier = "os:image:verifier"
	RoleMetaWriter    = "os:meta:writer"
	// RoleImpersonator is what an apid shows to another, which then believes the roles in the metadata. It allows no call.
	RoleImpersonator = "os:impersonator"
)

// Roles returns the roles that allow calls.
func Roles() []string {
	return []string{RoleAdmin, RoleOperator, RoleReader, RoleEtcdBackup, RoleImageVerifier, RoleMetaWriter}
}

// Metadata keys of calls.
const (
	// KeyNode names the node that serves the call, and KeyNodes the nodes that it is made to, with one answer for all.
	KeyNode  = "node"
	KeyNodes = "nodes"
	// KeyProxyFrom is the address of an apid that has forwarded the call.
	KeyProxyFrom = "proxyfrom"
	// KeyRole holds the caller's roles, as apid tells machined and other apids.
	KeyRole = "talos-role"
	// KeyToken holds the machine token in calls to trustd.
	KeyToken = "token"
)

// TCP ports of a machine.
const (
	APIPort        = 50000
	TrustdPort     = 50001
	KubernetesPort = 6443
	KubePrismPort  = 7445 // on loopback
	EtcdClientPort = 2379
	EtcdPeerPort   = 2380
	KubeletPort    = 10250
)

// EtcdURL is the etcd of this machine, for programs that run on it.
const EtcdURL = "https://127.0.0.1:2379"

// MaxMessage is the largest message that either side accepts, in bytes.
const MaxMessage = 32 << 20

// Unix sockets of the API.
const (
	// MachineSocket is where machined serves the API.
	MachineSocket = layout.MachinedRunDir + "/machine.sock"
	// APIDSocket and TrustdSocket are where machined shows each the few resources that it needs.
	APIDSocket   = layout.APIDRunDir + "/runtime.sock"
	TrustdSocket = layout.TrustdRunDir + "/runtime.sock"
)
