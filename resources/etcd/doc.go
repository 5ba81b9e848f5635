// SPDX-License-Identifier: Apache-2.0

// Package etcd holds the resources of the etcd member of this node.
package etcd

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName is the namespace of all of them.
const NamespaceName = "etcd"

var domain = definition.Domain{Group: "etcd.talos.dev", Namespace: NamespaceName}

// Singleton ids.
const (
	ConfigID    = "etcd"
	SpecID      = "etcd"
	PKIID       = "etcd"
	MemberID    = "local"
	BootstrapID = "bootstrap"
	// MembershipID is this machine's membership, and LeaveID the request to end it.
	MembershipID = "local"
	LeaveID      = "leave"
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[BootstrapRequestSpec](),
		resource.Register[ConfigSpec](),
		resource.Register[LeaveRequestSpec](),
		resource.Register[MemberSpec](),
		resource.Register[MemberStatusSpec](),
		resource.Register[MembershipStatusSpec](),
		resource.Register[PKIStatusSpec](),
		resource.Register[SpecSpec](),
	)
}
