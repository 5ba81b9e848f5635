// SPDX-License-Identifier: Apache-2.0

// Package files holds the resources of the few files under /etc that differ between machines.
package files

// NamespaceName of the files' resources.
const NamespaceName = "files"
