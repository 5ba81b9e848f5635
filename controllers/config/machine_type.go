// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// Controllers of this domain.
func Controllers(c *Controller) []controller.Controller {
	return []controller.Controller{c, c.conditionsController(), MachineTypeController()}
}

// MachineTypeController publishes the role of the machine.
func MachineTypeController() controller.Controller {
	return fromconfig.Controller("config.MachineTypeController", configres.MachineTypeID, controller.Exclusive,
		func(cfg *view.Config) (*configres.MachineTypeSpec, error) {
			return &configres.MachineTypeSpec{MachineType: configres.MachineTypeOf(cfg.Type())}, nil
		})
}
