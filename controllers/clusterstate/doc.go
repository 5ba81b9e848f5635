// SPDX-License-Identifier: Apache-2.0

// Package clusterstate has the state that all control planes share: a namespace of resources in etcd, and locks.
//
// A lock keeps apart what must happen on one node of the cluster at a time, such as a change of etcd's members. A node that is
// cut off or dies loses its locks after a while. Each held lock is a resource, so that operators see who holds it:
//
//	talosctl get clusterlocks
package clusterstate

import "github.com/seed-59268b81/talos/cosi/etcd"

// Where the shared state is in etcd. Kubernetes uses /registry.
const (
	// Prefix of the resources.
	Prefix = "/talos/state"

	locks = "/talos/locks/"
)

// Lease is the longest time for which a lock stays held after its holder was cut off.
const Lease = etcd.DefaultLease
