// SPDX-License-Identifier: Apache-2.0

// Package servingcert decides which requests of kubelets for serving certificates are approved: those that name the Node that
// asks, with nothing that is another's. It is pure.
//
// The controller manager approves such requests for nobody, since it does not know which names and addresses a node has. Neither
// does the API server: a kubelet writes the addresses of its own Node as it likes. So an address is approved when one Node alone
// says that it has it, and a name or address that API servers answer to, or that may be a Service's, is a control plane Node's or
// nobody's: the cluster's authority signs for kubelets and API servers alike.
//
// A request that is not approved is left alone, not denied: an administrator, or an approver of theirs, may know better.
package servingcert
