// SPDX-License-Identifier: Apache-2.0

// Package trustd signs certificates for nodes that hold no authority's key: workers. A worker's apid serves with what
// trustd of a control plane node signs for it, on port 50001.
//
// A caller proves that it belongs to the cluster by the machine token, and by nothing else, so a token that leaks must
// be worth little. What is signed serves and never calls: it has the server's usage only, carries no organization, and
// with that no role, and lives for a day at most. It is for the caller itself: the address that the call comes from is among
// those that it asks for, and names and addresses of the control plane are left out of the certificate, with a line in
// the log, whatever was asked for. They are left out rather than refused since every configuration of a cluster may
// list them in machine.certSANs, which nodes copy into their requests; a name that a worker is to have must not be listed
// there on control planes too.
//
// Whose a name or an address is, the cluster's Nodes say, which a control plane follows: a name is that of the Node that
// is called so, in whatever domain, and a caller is the Node that has the address that the call comes from. It gets that
// address and what is its own Node's. A name that no Node has is given too: the machine is one whose Node is yet to
// come, as on its first join, or an administrator gave it one more. The machine token is then all that speaks for it, so
// what is signed without a Node lives for two hours only, and by then the Node is there. (Whoever holds the bootstrap
// token too, as each worker does, can have a kubelet's certificate of any Node, and with that say which addresses it
// has: Kubernetes draws no line there.) Besides, what one caller has a certificate for is not another's while that
// lives. Callers behind a load balancer that has an address of the control plane cannot be told apart: each is the Node
// that it says it is, and no more than one.
//
// Anybody may connect, so everything that costs is bounded: connections (in all, and of one peer), the size of a
// request and of a key in it, requests of a peer in a time, and lines in the log.
//
// It runs like apid as a process of its own, with its own user and no capabilities, and sees of the resources its own certificate
// alone. Whether a request is granted, and the signature, are the Signer's, which is in process 1 behind the same socket: the key of
// the authority and the token are in no process that strangers talk to. All may change while it runs: the token, the authority
// and its own certificate are those of the moment.
package trustd

import "time"

// Lifetime of the certificates that it signs for Nodes of the cluster, and FirstLifetime of those for machines that are none, or not yet.
const (
	Lifetime      = 24 * time.Hour
	FirstLifetime = 2 * time.Hour
)
