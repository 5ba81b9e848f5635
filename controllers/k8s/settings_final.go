// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// finalControllers add the command line to the settings of each component.
func finalControllers() []controller.Controller {
	return []controller.Controller{
		apiServerFinalController(),
		finalController("k8s.ControlPlaneControllerManagerFinalController", k8s.ControllerManagerID,
			func(spec *k8s.ControllerManagerConfigSpec) (err error) {
				spec.Args, err = pods.ControllerManagerArgs(*spec)

				return err
			}),
		finalController("k8s.ControlPlaneSchedulerFinalController", k8s.SchedulerID,
			func(spec *k8s.SchedulerConfigSpec) (err error) {
				spec.Args, err = pods.SchedulerArgs(*spec)

				return err
			}),
	}
}

// finalController writes the final copy of a resource.
func finalController[S resource.Spec](name, id string, finish func(*S) error) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads:          []controller.Input{controller.In[S](controller.Weak, "", id)},
		Writes:         []controller.Output{controller.Out[S](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[S]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			settings, err := typed.Find[S](ctx, rt, "", id)
			if err != nil || settings == nil {
				return err
			}

			spec := *settings.TypedSpec()
			if err := finish(&spec); err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", k8s.FinalPrefix+id, spec)
		},
	}
}

// apiServerFinalController does the same; the API server's command line also depends on the cluster's keys.
func apiServerFinalController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.ControlPlaneAPIServerFinalController",
		Reads: []controller.Input{
			controller.In[k8s.APIServerConfigSpec](controller.Weak, "", k8s.APIServerID),
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
		},
		Writes:  []controller.Output{controller.Out[k8s.APIServerConfigSpec](controller.Shared)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.APIServerConfigSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			settings, err := typed.Find[k8s.APIServerConfigSpec](ctx, rt, "", k8s.APIServerID)
			if err != nil || settings == nil {
				return err
			}

			root, err := typed.Find[secrets.KubernetesRootSpec](ctx, rt, "", secrets.KubernetesRootID)
			if err != nil || root == nil {
				return err
			}

			spec := *settings.TypedSpec()

			if spec.Args, err = pods.APIServerArgs(spec, *root.TypedSpec()); err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", k8s.FinalPrefix+k8s.APIServerID, spec)
		},
	}
}
