// SPDX-License-Identifier: Apache-2.0

// Package etcd holds the resources of the etcd member of this node.
package etcd

// NamespaceName is the namespace of all of them.
const NamespaceName = "etcd"

// Singleton ids.
const (
	ConfigID    = "etcd"
	SpecID      = "etcd"
	PKIID       = "etcd"
	MemberID    = "local"
	BootstrapID = "bootstrap"
)
