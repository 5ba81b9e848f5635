// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/supervisor"
)

// Supervisor is what of the supervisor is used; a test has its own.
type Supervisor interface {
	Apply(svc supervisor.Service) error
}

// ServiceController starts apid as soon as it is known how it shall listen. apid follows every later change itself.
func ServiceController(sup Supervisor, process Process) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.APIServiceController",
		Reads: []controller.Input{
			controller.In[runtime.APIServiceConfigSpec](controller.Weak, "", runtime.APIServiceConfigID),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			config, err := typed.Find[runtime.APIServiceConfigSpec](ctx, rt, "", runtime.APIServiceConfigID)
			if err != nil || config == nil {
				return err
			}

			return start(sup, process, "apid", cgroup.Apid, port)
		},
	}
}

func start(sup Supervisor, process Process, name string, group cgroup.Group, port int) error {
	service, err := process.service(name, group, port)
	if err != nil {
		return err
	}

	if err := sup.Apply(service); !errors.Is(err, supervisor.ErrClosed) {
		return err
	}

	return nil // the machine goes down
}
