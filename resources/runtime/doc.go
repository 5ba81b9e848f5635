// SPDX-License-Identifier: Apache-2.0

// Package runtime holds the resources of the machine as a whole: its stage and readiness, versions, kernel parameters and modules,
// META, maintenance and power.
package runtime

import "github.com/seed-59268b81/talos/resources/definition"

// NamespaceName of the domain.
const NamespaceName = "runtime"

var domain = definition.Domain{Group: "runtime.talos.dev", Namespace: NamespaceName}
