// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/cri"
)

// SeccompProfileController has the profiles of machine.seccompProfiles.
func SeccompProfileController() controller.Controller {
	return fromconfig.Many("cri.SeccompProfileController", controller.Exclusive, func(cfg *view.Config) (map[string]cri.SeccompProfileSpec, error) {
		specs := map[string]cri.SeccompProfileSpec{}

		for _, p := range cfg.SeccompProfiles() {
			specs[p.Name] = cri.SeccompProfileSpec{Name: p.Name, Value: p.Value}
		}

		return specs, nil
	})
}
