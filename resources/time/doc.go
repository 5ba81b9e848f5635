// SPDX-License-Identifier: Apache-2.0

// Package time holds the resources of the machine's clock: whether it is set, and what the kernel says of it.
package time

// NamespaceName of the clock's resources.
const NamespaceName = "runtime"

// StatusID is the one id of the types here.
const StatusID = "node"
