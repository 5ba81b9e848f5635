// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
)

// Supervisor is the part of the supervisor that the controllers use; tests have their own.
type Supervisor interface {
	Apply(svc supervisor.Service) error
}

// Controllers of this domain. Trustd is its process.
func Controllers(sup Supervisor, trustd Process) []controller.Controller {
	return []controller.Controller{ConfigController(), TrustdController(sup, trustd)}
}

// TrustdController starts trustd, which signs certificates for other nodes, as soon as trustd has its own certificate. Only
// control planes have one. trustd follows later changes itself.
func TrustdController(sup Supervisor, process Process) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.TrustdServiceController",
		Reads:          []controller.Input{controller.In[secrets.TrustdCertsSpec](controller.Weak, "", secrets.TrustdID)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			if f := typed.Read(ctx, rt, secrets.TrustdID, &secrets.TrustdCertsSpec{}); !f.OK {
				return f.Err
			}

			service, err := process.Service("trustd", cgroup.Trustd, contract.TrustdPort)
			if err != nil {
				return err
			}

			if err := sup.Apply(service); !errors.Is(err, supervisor.ErrClosed) {
				return err
			}

			return nil // the machine is going down
		},
	}
}
