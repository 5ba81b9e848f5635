// SPDX-License-Identifier: Apache-2.0

// Package security has the documents about what the machine trusts.
package security

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind { return []document.Kind{imageVerification, trustedRoots} }
