// SPDX-License-Identifier: Apache-2.0

// Package service holds the controller that shows the supervisor's services as resources.
package service

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// Controllers of this domain.
func Controllers(sup *supervisor.Supervisor) []controller.Controller {
	return []controller.Controller{&ServiceController{Supervisor: sup}}
}

// ServiceController writes one Service resource for each service that the supervisor knows.
type ServiceController struct{ Supervisor *supervisor.Supervisor }

// Name implements controller.Controller.
func (*ServiceController) Name() string { return "v1alpha1.ServiceController" }

// Inputs implements controller.Controller.
func (*ServiceController) Inputs() []controller.Input { return nil }

// Outputs implements controller.Controller.
func (*ServiceController) Outputs() []controller.Output {
	return []controller.Output{controller.Out[serviceres.ServiceSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (c *ServiceController) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	for {
		changed := c.Supervisor.Changes()

		rt.StartTrackingOutputs()

		for _, st := range c.Supervisor.List() {
			if err := typed.Set(ctx, rt, "", st.ID, specOf(st)); err != nil {
				return err
			}
		}

		if err := rt.CleanupOutputs(ctx, resource.KindOf[serviceres.ServiceSpec]("")); err != nil {
			return err
		}

		rt.ResetRestartBackoff()

		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		case <-changed:
		}
	}
}

func specOf(st supervisor.Status) serviceres.ServiceSpec {
	return serviceres.ServiceSpec{
		Running: st.State == supervisor.StateRunning,
		Healthy: st.HasHealth && st.Health.Known && st.Health.Healthy,
		Unknown: !st.HasHealth || !st.Health.Known,
	}
}
