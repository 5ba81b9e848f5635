// SPDX-License-Identifier: Apache-2.0

// Package time holds the resources of the machine's clock: whether it is set, and its state in the kernel.
package time

// NamespaceName of the clock's resources.
const NamespaceName = "runtime"

// StatusID is the id of the only resource of each type here.
const StatusID = "node"
