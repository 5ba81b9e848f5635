// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package apid holds the controllers that decide how the API is served and keep its process running.
package apid

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// ConfigController decides how apid listens. Without a configuration the API is open, but only in maintenance: while the machine
// still looks for a configuration, the API stays closed.
func ConfigController() controller.Controller {
	return transform.Singleton[secrets.APICertsSpec, runtime.APIServiceConfigSpec]{
		Name: "runtime.APIServiceConfigController",
		InID: secrets.APIID, OutID: runtime.APIServiceConfigID,
		Extra: []controller.Input{controller.In[runtime.MaintenanceServiceRequestSpec](controller.Weak, "", runtime.MaintenanceServiceRequestID)},
		Transform: func(ctx context.Context, r state.Reader, _ *slog.Logger, certs *secrets.APICertsSpec, out *runtime.APIServiceConfigSpec) error {
			open := certs.SkipVerifyingClientCert

			if f := typed.Read(ctx, r, runtime.MaintenanceServiceRequestID, &runtime.MaintenanceServiceRequestSpec{}); f.Err != nil || open && !f.OK {
				return cmp.Or(f.Err, transform.ErrNoOutput)
			}

			*out = runtime.APIServiceConfigSpec{
				ListenAddress:           ":" + strconv.Itoa(contract.APIPort),
				NodeRoutingDisabled:     open,
				ReadonlyRoleMode:        open,
				SkipVerifyingClientCert: open,
			}

			return nil
		},
	}.Controller()
}
