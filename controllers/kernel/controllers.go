// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package kernel holds the controllers of the kernel's parameters and modules: the hardened defaults, what the machine
// configuration adds, and the modules that the hardware asks for.
package kernel

import (
	"os"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Deps are what the controllers need from outside.
type Deps struct {
	// Platform is where the machine runs. Where the kernel is another's, modules are wanted and not loaded.
	Platform platform.Platform
	// Loader of modules; nil where the kernel is another's.
	Loader *module.Loader
	// Settled is that of HotplugController.
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

	// Elsewhere it is the host's to harden (PlatformConditions).
	if deps.Platform.Owns(platform.KernelParameters) {
		all = append(all, HardeningController(os.DirFS("/")))
	}

	if deps.Platform.Owns(platform.KernelModules) {
		all = append(all, ModuleController(deps.Loader), &HotplugController{Loader: deps.Loader, Settled: deps.Settled})
	}

	return all
}
