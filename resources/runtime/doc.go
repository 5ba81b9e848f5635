// SPDX-License-Identifier: Apache-2.0

// Package runtime holds the resources of the machine as a whole: its stage and readiness, versions, kernel parameters and modules,
// META, maintenance, power, and where logs and events are sent.
package runtime

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the domain.
const NamespaceName = "runtime"

var domain = definition.Domain{Group: "runtime.talos.dev", Namespace: NamespaceName}

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[APIServiceConfigSpec](),
		resource.Register[BootSpec](),
		resource.Register[BootIDSpec](),
		resource.Register[EnvironmentSpec](),
		resource.Register[DevicesStatusSpec](),
		resource.Register[EventSinkConfigSpec](),
		resource.Register[HardeningConditionSpec](),
		resource.Register[KernelCmdlineSpec](),
		resource.Register[KernelModuleSpecSpec](),
		resource.Register[KernelModuleStatusSpec](),
		resource.Register[KernelParamDefaultSpecSpec](),
		resource.Register[KernelParamSpecSpec](),
		resource.Register[KernelParamStatusSpec](),
		resource.Register[KmsgLogConfigSpec](),
		resource.Register[LifecycleSpec](),
		resource.Register[LoadedKernelModuleSpec](),
		resource.Register[MachineResetSignalSpec](),
		resource.Register[MachineStatusSpec](),
		resource.Register[MaintenanceServiceRequestSpec](),
		resource.Register[MetaKeySpec](),
		resource.Register[MetaLoadedSpec](),
		resource.Register[PlatformConditionSpec](),
		resource.Register[OOMActionSpec](),
		resource.Register[PlatformMetadataSpec](),
		resource.Register[PowerRequestSpec](),
		resource.Register[SecurityStateSpec](),
		resource.Register[SettingConditionSpec](),
		resource.Register[TrialSpec](),
		resource.Register[UnattendedInstallStatusSpec](),
		resource.Register[VersionSpec](),
		resource.Register[WatchdogTimerConfigSpec](),
		resource.Register[WatchdogTimerStatusSpec](),
	)
}
