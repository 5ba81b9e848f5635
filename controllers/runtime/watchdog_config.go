// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// WatchdogConfigController has the watchdog of the document WatchdogTimerConfig.
func WatchdogConfigController() controller.Controller {
	const name = "runtime.WatchdogTimerConfigController"

	return fromconfig.Many(name, controller.Exclusive, func(cfg *view.Config) (map[string]runtime.WatchdogTimerConfigSpec, error) {
		w := cfg.Watchdog()
		if w == nil {
			return nil, nil
		}

		return map[string]runtime.WatchdogTimerConfigSpec{runtime.WatchdogTimerID: {Device: w.Device, Timeout: w.Timeout}}, nil
	})
}
