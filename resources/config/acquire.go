// SPDX-License-Identifier: Apache-2.0

package config

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// signals have the group and the namespace that existing clients use.
var signals = definition.Domain{Group: "v1alpha1.talos.dev", Namespace: "runtime"}

var (
	acquireSpecDefinition   = signals.Type("AcquireConfigSpecs")
	acquireStatusDefinition = signals.Type("AcquireConfigStatuses")
)

// AcquireConfigSpec is a signal: the machine looks for a configuration.
type AcquireConfigSpec struct{}

// Definition implements resource.Spec.
func (AcquireConfigSpec) Definition() *resource.Definition { return acquireSpecDefinition }

// AcquireConfigStatus is a signal: a configuration that is complete for boot is active.
type AcquireConfigStatus struct{}

// Definition implements resource.Spec.
func (AcquireConfigStatus) Definition() *resource.Definition { return acquireStatusDefinition }
