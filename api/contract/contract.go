// SPDX-License-Identifier: Apache-2.0

// Package contract holds the facts that both sides of the API must agree on, and that existing clients rely on: roles, metadata
// keys, ports, limits and sockets. A fact is in no other package, which test/house checks. It contains only data, and imports
// only package layout.
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
	// RoleImpersonator is the role of one apid at another, which then accepts the roles in the metadata. It allows no call.
	RoleImpersonator = "os:impersonator"
)

// Roles returns the roles that allow calls.
func Roles() []string {
	return []string{RoleAdmin, RoleOperator, RoleReader, RoleEtcdBackup, RoleImageVerifier, RoleMetaWriter}
}

// Metadata keys of calls.
const (
	// KeyNode names the node that serves the call. KeyNodes names several, whose answers are combined.
	KeyNode  = "node"
	KeyNodes = "nodes"
	// KeyProxyFrom is the address of an apid that has forwarded the call.
	KeyProxyFrom = "proxyfrom"
	// KeyRole holds the caller's roles, from apid to machined and other apids.
	KeyRole = "talos-role"
	// KeyPeer is the address from which apid has the call, from apid to machined.
	KeyPeer = "talos-peer"
	// KeyTrialTime is how long a version may be tried that a call installs or goes back to, as a duration of Go (5m). Nodes that do not know it
	// ignore it.
	KeyTrialTime = "talos-trial-time"
	// KeyToken holds the machine token in calls to trustd.
	KeyToken = "token"
	// KeyConfigFrom names the configuration that a new one was made from, as ID:DIGEST. The node refuses the new one if it has another by
	// now. Callers that do not send it are not checked.
	KeyConfigFrom = "talos-config-from"
	// KeyCommit says when a configuration that is applied is committed. CommitHealthy is when the machine was healthy with it for a while. With
	// the mode TRY it takes the place of a person who confirms it; with AUTO, NO_REBOOT and STAGED, which wait for the machine's health by
	// themselves, it says that the request's timeout is the deadline of that. CommitNow is at once. Nodes that do not know it ignore it.
	KeyCommit     = "talos-commit"
	CommitHealthy = "healthy"
	CommitNow     = "now"
)

// TCP ports of a machine.
const (
	APIPort        = 50000
	TrustdPort     = 50001
	DiscoveryPort  = 50002
	KubernetesPort = 6443
	KubePrismPort  = 7445 // on loopback
	EtcdClientPort = 2379
	EtcdPeerPort   = 2380
	KubeletPort    = 10250
)

// EtcdURL is this machine's etcd, for programs on the machine.
const EtcdURL = "https://127.0.0.1:2379"

// MaxMessage is the largest message that either side accepts, in bytes.
const MaxMessage = 32 << 20

// Unix sockets of the API.
const (
	// MachineSocket is where machined serves the API.
	MachineSocket = layout.MachinedRunDir + "/machine.sock"
	// APIDSocket, TrustdSocket and DiscoverydSocket are where machined shows these programs the resources that they need.
	APIDSocket       = layout.APIDRunDir + "/runtime.sock"
	TrustdSocket     = layout.TrustdRunDir + "/runtime.sock"
	DiscoverydSocket = layout.DiscoverydRunDir + "/runtime.sock"
	// ImageSocket is where machined serves the image service of CRI to the kubelet, which sees this folder.
	ImageSocket = layout.RunDir + "/machined-images.sock"
)
