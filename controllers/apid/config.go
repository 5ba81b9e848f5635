// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package apid holds the controllers that decide how the API is served and keep its process running.
package apid

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// ConfigController decides how apid listens. Without a configuration the API is open, but only when maintenance was
// asked for: while a configuration is still being looked for, it is shut.
func ConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.APIServiceConfigController",
		Reads: []controller.Input{
			controller.In[secrets.APICertsSpec](controller.Weak, "", secrets.APIID),
			controller.In[runtime.MaintenanceServiceRequestSpec](controller.Weak, "", runtime.MaintenanceServiceRequestID),
		},
		Writes:  []controller.Output{controller.Out[runtime.APIServiceConfigSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[runtime.APIServiceConfigSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var certs secrets.APICertsSpec
			if f := typed.Read(ctx, rt, secrets.APIID, &certs); !f.OK {
				return f.Err
			}

			maintenance, err := typed.Find[runtime.MaintenanceServiceRequestSpec](ctx, rt, "", runtime.MaintenanceServiceRequestID)
			open := certs.SkipVerifyingClientCert

			if err != nil || open && maintenance == nil {
				return err
			}

			return typed.Set(ctx, rt, "", runtime.APIServiceConfigID, runtime.APIServiceConfigSpec{
				ListenAddress:           ":" + strconv.Itoa(contract.APIPort),
				NodeRoutingDisabled:     open,
				ReadonlyRoleMode:        open,
				SkipVerifyingClientCert: open,
			})
		},
	}
}
