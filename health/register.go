// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// Register registers the types that the checks read, in a process that reads them from other machines.
func Register() error {
	return errors.Join(
		resource.Register[block.DiskSpec](), resource.Register[block.SystemDiskSpec](),
		resource.Register[cluster.MemberSpec](),
		resource.Register[config.MachineConfigSpec](),
		resource.Register[k8s.NodenameSpec](), resource.Register[k8s.StaticPodSpec](), resource.Register[k8s.StaticPodStatusSpec](),
		resource.Register[runtime.MachineStatusSpec](), resource.Register[runtime.PlatformConditionSpec](),
		resource.Register[serviceres.ServiceSpec](),
	)
}
