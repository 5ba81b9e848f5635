// SPDX-License-Identifier: Apache-2.0

package config

import "github.com/seed-59268b81/talos/cosi/resource"

// acquireNamespace is where the signals live, as users of the API know them.
const acquireNamespace = "runtime"

var acquireSpecDefinition = &resource.Definition{
	Type:             "AcquireConfigSpecs.v1alpha1.talos.dev",
	DefaultNamespace: acquireNamespace,
}

// AcquireConfigSpec is a signal: a configuration is wanted from here on.
type AcquireConfigSpec struct{}

// Definition implements resource.Spec.
func (AcquireConfigSpec) Definition() *resource.Definition { return acquireSpecDefinition }

var acquireStatusDefinition = &resource.Definition{
	Type:             "AcquireConfigStatuses.v1alpha1.talos.dev",
	DefaultNamespace: acquireNamespace,
}

// AcquireConfigStatus is a signal: a configuration that is complete for boot is active.
type AcquireConfigStatus struct{}

// Definition implements resource.Spec.
func (AcquireConfigStatus) Definition() *resource.Definition { return acquireStatusDefinition }
