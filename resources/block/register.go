// SPDX-License-Identifier: Apache-2.0

package block

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[DeviceSpec](),
		resource.Register[DiscoveredVolumeSpec](),
		resource.Register[DiskSpec](),
		resource.Register[MountStatusSpec](),
		resource.Register[SystemDiskSpec](),
		resource.Register[VolumeConfigSpec](),
		resource.Register[VolumeLifecycleSpec](),
		resource.Register[VolumeMountRequestSpec](),
		resource.Register[VolumeMountStatusSpec](),
		resource.Register[VolumeStatusSpec](),
	)
}
