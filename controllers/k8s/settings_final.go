// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// finalControllers add its command line to the settings of each component. That of the API server also depends on the cluster's keys.
func finalControllers() []controller.Controller {
	var root secrets.KubernetesRootSpec

	return []controller.Controller{
		finalController("k8s.ControlPlaneAPIServerFinalController", k8s.APIServerID,
			func(spec *k8s.APIServerConfigSpec) (err error) {
				spec.Args, err = pods.APIServerArgs(*spec, root)

				return err
			}, frominputs.Of(secrets.KubernetesRootID, &root)),
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
func finalController[S resource.Spec](name, id string, finish func(*S) error, more ...frominputs.Input) controller.Controller {
	var settings S

	inputs := append(frominputs.List{frominputs.Of(id, &settings)}, more...)

	return frominputs.One(name, k8s.FinalPrefix+id, controller.Shared, inputs, func() (*S, error) {
		return &settings, finish(&settings)
	})
}
