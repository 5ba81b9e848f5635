// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// needed modules are those that the kernel does not load on demand: the filter of bridged traffic, which Kubernetes' services need,
// and the file system of containers.
var needed = []string{"br_netfilter", "overlay"}

// ModuleConfigController publishes the needed modules and those of machine.kernel.modules.
func ModuleConfigController() controller.Controller {
	return fromconfig.Many("runtime.KernelModuleConfigController", controller.Shared, func(cfg *view.Config) (map[string]runtime.KernelModuleSpecSpec, error) {
		specs := map[string]runtime.KernelModuleSpecSpec{}

		for _, name := range needed {
			specs[name] = runtime.KernelModuleSpecSpec{Name: name}
		}

		for _, m := range cfg.KernelModules() {
			specs[m.Name] = runtime.KernelModuleSpecSpec{Name: m.Name, Parameters: m.Parameters}
		}

		return specs, nil
	})
}
