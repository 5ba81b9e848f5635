// SPDX-License-Identifier: Apache-2.0

// Package trustd signs certificates for workers, which do not have the authority's key. A worker's apid serves with the certificate
// that trustd of a control plane node signs for it, on port 50001.
//
// A caller proves by the machine token alone that it belongs to the cluster, so a leaked token must be worth little. A certificate
// from trustd is for serving only: it has the server's usage and no organization, so it carries no role. It is valid for a day at
// most. It is for the caller itself: the request must contain the address that the call comes from, and names and addresses of
// the control plane are left out of the certificate and logged. They are left out rather than refused because every
// configuration of a cluster may list them in machine.certSANs, which nodes copy into their requests. So a name for a worker must
// not be in machine.certSANs of control plane nodes.
//
// The cluster's Nodes decide who owns a name or an address. A name belongs to the Node of that name, in any domain. A caller is the
// Node that has the address that the call comes from. It gets that address, and the names and addresses of its own Node. It also
// gets names that no Node has: its Node may not exist yet, as on the first join, or an administrator has added a name. Only the
// machine token vouches for such a caller, so a certificate without a Node is valid for two hours, enough until the Node exists.
// (A holder of the bootstrap token, which each worker has, can get a kubelet's certificate for any Node, and set that Node's
// addresses: Kubernetes does not prevent it.) In addition, while a caller's certificate is valid, other callers get none for the
// same names. Callers behind a load balancer that has an address of the control plane cannot be distinguished: each is taken for
// the one Node that it names.
//
// Anyone may connect, so there are limits on connections (in all, and of one peer), on the size of a request and of its key, on
// the rate of requests of a peer, and on lines in the log.
//
// Like apid it is a process of its own, with its own user and no capabilities. The only resource that it sees is its own
// certificate. The Signer, in process 1 behind the same socket, decides about requests and signs: the key of the authority and
// the token are in no process that strangers can connect to. The token, the authority and the certificate may change at any time;
// the present ones are used.
package trustd

import "time"

// Lifetime of the certificates for Nodes of the cluster, and FirstLifetime of those for machines without a Node.
const (
	Lifetime      = 24 * time.Hour
	FirstLifetime = 2 * time.Hour
)
