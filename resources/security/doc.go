// SPDX-License-Identifier: Apache-2.0

// Package security holds the resources about what the machine trusts.
package security

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the domain.
const NamespaceName = "security"

var domain = definition.Domain{Group: "security.talos.dev", Namespace: NamespaceName}

// Register makes the domain's types known to this process.
func Register() error { return resource.Register[ImageVerificationRuleSpec]() }
