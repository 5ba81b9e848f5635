// SPDX-License-Identifier: Apache-2.0

// Package time holds the resources of the machine's clock: whether it is set, and its state in the kernel.
package time

import "github.com/seed-59268b81/talos/resources/definition"

// NamespaceName of the clock's resources.
const NamespaceName = "runtime"

// StatusID is the id of the only resource of each type here.
const StatusID = "node"

var domain = definition.Domain{Group: "v1alpha1.talos.dev", Namespace: NamespaceName}
