// SPDX-License-Identifier: Apache-2.0

// Package clusterstate holds the cluster-wide resources: those that all control planes share, in etcd. Each other resource is of
// one machine.
package clusterstate

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName is the namespace of all of them. Only control planes have it, while their etcd is healthy.
const NamespaceName = "cluster-wide"

var domain = definition.Domain{Group: "clusterstate.talos.dev", Namespace: NamespaceName}

// Register makes the types of the domain known to this process.
func Register() error {
	return errors.Join(
		resource.Register[LockSpec](),
	)
}
