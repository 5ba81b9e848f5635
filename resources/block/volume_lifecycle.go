// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

// VolumeLifecycleID is the id of the only one.
const VolumeLifecycleID = "volumes"

var volumeLifecycleDefinition = &resource.Definition{
	Type:             "VolumeLifecycles.block.talos.dev",
	DefaultNamespace: NamespaceName,
}

// VolumeLifecycleSpec is a signal: it exists from the start of the machine, and its teardown means that every volume
// shall be unmounted. The volume controllers hold a finalizer on it until that is done.
type VolumeLifecycleSpec struct{}

// Definition implements resource.Spec.
func (VolumeLifecycleSpec) Definition() *resource.Definition { return volumeLifecycleDefinition }
