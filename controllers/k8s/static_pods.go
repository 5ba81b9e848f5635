// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/container"
)

// readyPoll is the interval of readiness checks of an API server that starts for the first time.
const readyPoll = time.Second

// bootstrapRoles is the last check of an API server that starts for the first time: it creates its roles, one by one.
const bootstrapRoles = "poststarthook/rbac/bootstrap-roles"

// staticPodController renders the API server's pod once etcd is healthy and the files are on disk. It renders the scheduler's pod once the API
// server was ready, and the controller manager's once only the API server's roles were missing: both exit when the API server takes too long
// to start, and then the kubelet delays their restart. The controller manager waits 10 s for the roles by itself, and takes longer to start
// than the API server needs to create them. Pods stay once they are rendered: an API server survives a restart of etcd better than its own.
// They end when the machine leaves etcd: its API server would answer nothing any more.
func staticPodController(fetch Fetch) controller.Controller {
	var (
		access secrets.KubernetesCertsSpec
		api    localAPI
	)

	return frominputs.Controller[k8s.StaticPodSpec]("k8s.ControlPlaneStaticPodController", controller.Shared, frominputs.List{
		// Without settings the configuration has no control plane any more.
		frominputs.Of(k8s.FinalPrefix+k8s.APIServerID, &k8s.APIServerConfigSpec{}),
		frominputs.Also(controller.In[k8s.ControllerManagerConfigSpec](controller.Weak, "", k8s.FinalPrefix+k8s.ControllerManagerID)),
		frominputs.Also(controller.In[k8s.SchedulerConfigSpec](controller.Weak, "", k8s.FinalPrefix+k8s.SchedulerID)),
		frominputs.Of(k8s.StaticPodsID, &k8s.SecretsStatusSpec{}).Any().OrKeep(),
		frominputs.Of(k8s.StaticPodsID, &k8s.ConfigStatusSpec{}).Any().OrKeep(),
		frominputs.Of(secrets.KubernetesID, &access).OrKeep(),
		frominputs.Also(serviceInput(etcdService)),
		frominputs.Also(controller.In[etcd.MembershipStatusSpec](controller.Weak, "", etcd.MembershipID)),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		if ok, err := etcdServed(ctx, rt); err != nil || !ok {
			return err
		}

		if err := setPod(ctx, rt, fetch, k8s.APIServerID, pods.APIServerPod); err != nil {
			return err
		}

		waits := false

		later := func(id string, set func() error, exclude ...string) error {
			ready, err := apiServerWasReady(ctx, rt, id, &api, access, exclude...)
			if err != nil || !ready {
				waits = true

				return err
			}

			return set()
		}

		err := errors.Join(
			later(k8s.ControllerManagerID, func() error {
				return setPod(ctx, rt, fetch, k8s.ControllerManagerID, func(spec k8s.ControllerManagerConfigSpec, v pods.Versions) render.Object {
					if !spec.Enabled {
						return nil
					}

					return pods.ControllerManagerPod(spec, v)
				})
			}, bootstrapRoles),
			later(k8s.SchedulerID, func() error {
				return setPod(ctx, rt, fetch, k8s.SchedulerID, func(spec k8s.SchedulerConfigSpec, v pods.Versions) render.Object {
					if !spec.Enabled {
						return nil
					}

					return pods.SchedulerPod(spec, v)
				})
			}),
		)
		if waits {
			return controller.RequeueWith(err, readyPoll)
		}

		return err
	})
}

// apiServerWasReady reports whether the API server is ready, apart from the excluded checks, or was ready before: then the pod that waits for
// it is rendered.
func apiServerWasReady(
	ctx context.Context, rt controller.Runtime, id string, api *localAPI, access secrets.KubernetesCertsSpec, exclude ...string,
) (bool, error) {
	pod, err := typed.Find[k8s.StaticPodSpec](ctx, rt, "", id)
	if err != nil || pod != nil {
		return pod != nil, err
	}

	client, err := api.get(access.LocalhostAdminKubeconfig)
	if err != nil {
		return false, err
	}

	return client.Ready(ctx, exclude...) == nil, nil
}

// setPod renders one pod from the final settings of its component, if they exist and enable it. The pod changes only with the files of that
// component, and only with those that it reads at its start.
func setPod[S resource.Spec](ctx context.Context, rt controller.Runtime, fetch Fetch, id string, build func(S, pods.Versions) render.Object) error {
	settings, err := typed.Find[S](ctx, rt, "", k8s.FinalPrefix+id)
	if err != nil || settings == nil {
		return err
	}

	var (
		keys  k8s.SecretsStatusSpec
		ca    k8s.SecretsStatusSpec // the authorities of kubelets
		files k8s.ConfigStatusSpec  // the controller manager has none
	)

	if err := errors.Join(typed.Read(ctx, rt, id, &keys).Err, typed.Read(ctx, rt, pods.KubeletCA, &ca).Err, typed.Read(ctx, rt, id, &files).Err); err != nil {
		return err
	}

	v := pods.Versions{Settings: settings.Metadata().VersionString(), Secrets: keys.Version, ConfigFiles: files.Version, KubeletCA: ca.Version}

	pod := build(*settings.TypedSpec(), v)
	if pod == nil {
		return nil
	}

	// The kubelet stops the running pod before it pulls the image of the next.
	running, err := typed.Find[k8s.StaticPodSpec](ctx, rt, "", id)
	if err != nil {
		return err
	}

	if running != nil {
		if err := fetch.before(ctx, id, container.NamespacePods, pods.Image(running.TypedSpec().Pod), pods.Image(pod)); err != nil {
			return err
		}
	}

	return typed.Set(ctx, rt, "", id, k8s.StaticPodSpec{Pod: pod})
}

// etcdServed reports whether this machine has a member of etcd with a vote, and that is healthy or was healthy before: then the API server's pod
// is rendered. An API server cannot start with a learner, which answers few requests.
func etcdServed(ctx context.Context, r state.Reader) (bool, error) {
	var member etcd.MembershipStatusSpec

	known := typed.Read(ctx, r, etcd.MembershipID, &member)
	if known.Err != nil || known.OK && !member.Belongs() {
		return false, known.Err
	}

	pod, err := typed.Find[k8s.StaticPodSpec](ctx, r, "", k8s.APIServerID)
	if err != nil || pod != nil {
		return pod != nil, err
	}

	if !known.OK || member.Step != etcd.StepMember {
		return false, nil
	}

	return serviceHealthy(ctx, r, etcdService)
}
