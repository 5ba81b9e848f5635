// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"cmp"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// eventSinkArgument is the argument of the kernel that has the server for events. The document EventSinkConfig wins.
const eventSinkArgument = "talos.events.sink"

// EventSinkConfigController has the server that events are sent to.
func EventSinkConfigController(args cmdline.Cmdline) controller.Controller {
	const name = "runtime.EventsSinkConfigController"

	return fromconfig.Many(name, controller.Exclusive, func(cfg *view.Config) (map[string]runtime.EventSinkConfigSpec, error) {
		argument, _ := args.Get(eventSinkArgument)

		endpoint := cmp.Or(cfg.EventSink(), argument)
		if endpoint == "" {
			return nil, nil
		}

		return map[string]runtime.EventSinkConfigSpec{runtime.EventSinkConfigID: {Endpoint: endpoint}}, nil
	})
}
