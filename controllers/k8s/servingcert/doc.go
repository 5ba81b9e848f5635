// SPDX-License-Identifier: Apache-2.0

// Package servingcert decides which requests of kubelets for serving certificates are approved: those with names and addresses that belong
// to the requesting Node alone. It is pure.
//
// The controller manager does not approve such requests, since it does not know which names and addresses a node has. The API server does
// not know them either: a kubelet can write any address into the status of its own Node. So an address is approved when exactly one Node
// claims it. Names and addresses of API servers, and names that may be a Service's, are approved for control plane Nodes only: the cluster's
// authority signs for kubelets and API servers alike.
//
// A request that is not approved is left alone, not denied, so that an administrator or another approver can decide.
package servingcert
