// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[APIServiceConfigSpec](),
		resource.Register[BootSpec](),
		resource.Register[BootIDSpec](),
		resource.Register[HardeningConditionSpec](),
		resource.Register[KernelCmdlineSpec](),
		resource.Register[KernelModuleSpecSpec](),
		resource.Register[KernelModuleStatusSpec](),
		resource.Register[KernelParamDefaultSpecSpec](),
		resource.Register[KernelParamSpecSpec](),
		resource.Register[KernelParamStatusSpec](),
		resource.Register[LifecycleSpec](),
		resource.Register[LoadedKernelModuleSpec](),
		resource.Register[MachineStatusSpec](),
		resource.Register[MaintenanceServiceRequestSpec](),
		resource.Register[MetaKeySpec](),
		resource.Register[MetaLoadedSpec](),
		resource.Register[PlatformConditionSpec](),
		resource.Register[PlatformMetadataSpec](),
		resource.Register[PowerRequestSpec](),
		resource.Register[SecurityStateSpec](),
		resource.Register[VersionSpec](),
	)
}
