// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package discovery runs discoveryd, the discovery service that control planes carry.
package discovery

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/apid"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
)

// ServiceID is the id of the service.
const ServiceID = "discoveryd"

// Supervisor is the part of the supervisor that the controller uses; tests have their own.
type Supervisor interface {
	Apply(svc supervisor.Service) error
	Remove(ctx context.Context, id string) error
}

// Controllers of this domain. The process is discoveryd's.
func Controllers(sup Supervisor, process apid.Process) []controller.Controller {
	return []controller.Controller{ServiceController(sup, process)}
}

// ServiceController runs discoveryd while it has a certificate, which control planes have whose cluster has discovery. discoveryd follows
// changes of the certificate itself.
func ServiceController(sup Supervisor, process apid.Process) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "discovery.ServiceController",
		Reads:          []controller.Input{controller.In[secrets.DiscoverydSpec](controller.Weak, "", secrets.DiscoverydID)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			f := typed.Read(ctx, rt, secrets.DiscoverydID, &secrets.DiscoverydSpec{})

			switch {
			case f.Err != nil:
				return f.Err
			case !f.OK:
				return sup.Remove(ctx, ServiceID)
			}

			service, err := process.Service(ServiceID, cgroup.Discoveryd, contract.DiscoveryPort)
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
