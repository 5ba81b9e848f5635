// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"os"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Controllers of the domain. settled is that of HotplugController. Where the kernel is another's, modules are wanted and
// not loaded, and loader is nil.
func Controllers(p platform.Platform, loader *module.Loader, settled <-chan struct{}) []controller.Controller {
	all := []controller.Controller{
		ParamDefaultsController(),
		ParamConfigController(),
		ParamController("/", p),
		ModuleConfigController(),
	}

	// Elsewhere it is the host's to harden (PlatformConditions).
	if p.Owns(platform.KernelParameters) {
		all = append(all, HardeningController(os.DirFS("/")))
	}

	if p.Owns(platform.KernelModules) {
		all = append(all, ModuleController(loader), &HotplugController{Loader: loader, Settled: settled})
	}

	return all
}
