// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/logsend"
)

// ServiceLogDeliveryController sends the logs of services to the servers of machine.logging. It needs goroutines that last, one for each
// server. The first lines of a boot are kept until the configuration is known.
func ServiceLogDeliveryController(outlet *logsend.Outlet) controller.Controller {
	w := &workers{}

	return &controller.Reconciler{
		ControllerName: "runtime.ServiceLogDeliveryController",
		Reads:          []controller.Input{fromconfig.Input()},
		Writes:         []controller.Output{controller.Out[runtime.SettingConditionSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[runtime.SettingConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.View(ctx, rt)
			if err != nil {
				return err
			}

			wanted := map[string]job{}

			for _, d := range cfg.LogDestinations() {
				server, err := logServer(d)
				if err != nil {
					return err
				}

				id := "log/" + d.Endpoint.String()
				wanted[id] = job{version: fmt.Sprint(server.Tags), begin: func() work { return sendServiceLogs(outlet, server) }}
			}

			err = w.keep(ctx, rt, wanted)

			if cfg.Complete() {
				outlet.Decide()
			}

			return err
		},
	}
}

func logServer(d view.LogDestination) (logsend.Server, error) {
	server, err := logsend.ParseServer(d.Endpoint.URL)
	if err != nil {
		return logsend.Server{}, err
	}

	if d.Format != "" && d.Format != "json_lines" {
		return logsend.Server{}, fmt.Errorf("log server %s: the format is %q: want json_lines", d.Endpoint.String(), d.Format)
	}

	server.Tags = d.ExtraTags

	return server, nil
}

// sendServiceLogs opens the queue at once, before the first lines of the boot are dropped.
func sendServiceLogs(outlet *logsend.Outlet, server logsend.Server) work {
	q := outlet.Open()

	return func(ctx context.Context, report func(error)) error {
		defer outlet.Close(q)

		return q.Run(ctx, logsend.NewSender(server, report))
	}
}
