// SPDX-License-Identifier: Apache-2.0

// Package network has the documents about the network, a file for each kind.
package network

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind {
	return []document.Kind{hostname, link}
}
