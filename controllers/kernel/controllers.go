// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package kernel holds the controllers of the kernel's parameters and modules: the hardened defaults, those of the machine
// configuration, and the modules that the hardware needs.
package kernel

import (
	"os"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Deps are what the controllers need from outside.
type Deps struct {
	// Platform is where the machine runs. Where the kernel is the host's, modules are not loaded.
	Platform platform.Platform
	// Loader of modules; nil where the kernel is the host's.
	Loader *module.Loader
	// Settled is closed when HotplugController has loaded the drivers of all devices once.
	Settled <-chan struct{}
}

// Controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	all := []controller.Controller{
		ParamDefaultsController(),
		ParamConfigController(),
		ParamController("/", deps.Platform),
		ModuleConfigController(),
	}

	// Otherwise the host hardens its kernel (PlatformConditions).
	if deps.Platform.Owns(platform.KernelParameters) {
		all = append(all, HardeningController(os.DirFS("/")))
	}

	if deps.Platform.Owns(platform.KernelModules) {
		all = append(all, ModuleController(deps.Loader), &HotplugController{Loader: deps.Loader, Settled: deps.Settled})
	}

	return all
}
