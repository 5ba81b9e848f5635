// SPDX-License-Identifier: Apache-2.0

// Package cluster holds the resources of the machine's place among others: who it is, and (with discovery) who
// the others are.
package cluster

import "github.com/seed-59268b81/talos/resources/definition"

// NamespaceName of the cluster's resources.
const NamespaceName = "cluster"

var domain = definition.Domain{Group: "cluster.talos.dev", Namespace: NamespaceName}

// LocalIdentityID is the identity of this machine.
const LocalIdentityID = "local"
