// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/sys/module"
)

// Controllers of the domain. settled is that of HotplugController.
func Controllers(loader *module.Loader, settled <-chan struct{}) []controller.Controller {
	return []controller.Controller{
		ParamDefaultsController(),
		ParamConfigController(),
		ParamController("/"),
		ModuleConfigController(),
		ModuleController(loader),
		&HotplugController{Loader: loader, Settled: settled},
	}
}
