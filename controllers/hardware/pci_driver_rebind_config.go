// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package hardware holds the controllers of the devices of the computer.
package hardware

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/hardware"
	"github.com/seed-59268b81/talos/sys/pci"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Controllers of this domain. settled is closed when all devices have their drivers.
func Controllers(p platform.Platform, sup Applier, settled <-chan struct{}) []controller.Controller {
	all := []controller.Controller{PCIDriverRebindConfigController()}

	if p.Owns(platform.KernelModules) {
		all = append(all,
			PCIDriverRebindController(pci.Real()),
			UdevRulesController(), UdevdController(sup, RunUdevadm, settled), DevicesStatusController(RunUdevadm),
		)
	}

	return all
}

// PCIDriverRebindConfigController has the drivers of the PCIDriverRebindConfig documents.
func PCIDriverRebindConfigController() controller.Controller {
	const name = "hardware.PCIDriverRebindConfigController"

	return fromconfig.Many(name, controller.Exclusive, func(cfg *view.Config) (map[string]hardware.PCIDriverRebindConfigSpec, error) {
		specs := map[string]hardware.PCIDriverRebindConfigSpec{}

		for id, driver := range cfg.PCIDrivers() {
			specs[id] = hardware.PCIDriverRebindConfigSpec{PCIID: id, TargetDriver: driver}
		}

		return specs, nil
	})
}
