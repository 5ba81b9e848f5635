// SPDX-License-Identifier: Apache-2.0

// Package cluster holds the resources of the machine's identity, of discovery and of the members of the cluster.
package cluster

import "github.com/seed-59268b81/talos/resources/definition"

// NamespaceName of the cluster's resources.
const NamespaceName = "cluster"

var domain = definition.Domain{Group: "cluster.talos.dev", Namespace: NamespaceName}

// LocalIdentityID is the identity of this machine.
const LocalIdentityID = "local"
