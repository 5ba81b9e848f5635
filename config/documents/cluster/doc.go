// SPDX-License-Identifier: Apache-2.0

// Package cluster has the documents about how the machines of a cluster find each other.
package cluster

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind { return []document.Kind{identity, service} }
