// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// HostnameSpecController sets the hostname in the kernel, and then publishes it.
func HostnameSpecController(d *Deps) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.HostnameSpecController",
		Reads:          []controller.Input{controller.In[network.HostnameSpecSpec](controller.Weak, "", network.HostnameID)},
		Writes:         []controller.Output{controller.Out[network.HostnameStatusSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[network.HostnameStatusSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			spec, err := typed.Find[network.HostnameSpecSpec](ctx, rt, "", network.HostnameID)
			if err != nil || spec == nil || spec.Metadata().Phase() != resource.PhaseRunning {
				return err
			}

			want := network.HostnameStatusSpec{Hostname: spec.TypedSpec().Hostname, Domainname: spec.TypedSpec().Domainname}

			have, err := typed.Find[network.HostnameStatusSpec](ctx, rt, "", network.HostnameID)
			if err != nil {
				return err
			}

			if have == nil || *have.TypedSpec() != want {
				if err := d.SetHostname(want.Hostname, want.Domainname); err != nil {
					return err
				}

				log.Info("hostname set", "hostname", want.Hostname, "domainname", want.Domainname)
			}

			return set(ctx, rt, "", network.HostnameID, want)
		},
	}
}
