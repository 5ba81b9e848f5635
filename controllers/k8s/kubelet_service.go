// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Supervisor is the part of the supervisor that is used; tests have their own.
type Supervisor interface {
	Apply(svc supervisor.Service) error
	Remove(ctx context.Context, id string) error
}

// kubeletServiceController writes the kubelet's files, and runs the kubelet when all of its inputs exist.
type kubeletServiceController struct {
	supervisor Supervisor
	root       string
	platform   platform.Platform
	// running is the fingerprint of the service that was applied last.
	running string
	// image is the image of that service.
	image string
	fetch Fetch
}

func (*kubeletServiceController) name() string { return "k8s.KubeletServiceController" }

func (c *kubeletServiceController) controller() controller.Controller {
	return &controller.Reconciler{
		ControllerName: c.name(),
		Reads: append(volume.Inputs(),
			controller.In[k8s.KubeletSpecSpec](controller.Weak, "", k8s.KubeletID),
			controller.In[secrets.KubeletSpec](controller.Weak, "", secrets.KubeletID),
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
			controller.In[files.EtcFileStatusSpec](controller.Weak, "", files.PodResolvConf),
			controller.In[files.EtcFileStatusSpec](controller.Weak, "", files.CABundle), // which the kubelet reads only at its start
			controller.In[runtime.EnvironmentSpec](controller.Weak, "", runtime.EnvironmentID),
		),
		Writes:    []controller.Output{volume.Output()},
		Reconcile: c.reconcile,
	}
}

func (c *kubeletServiceController) stop(ctx context.Context) error {
	c.running = ""

	return c.supervisor.Remove(ctx, KubeletServiceID)
}

func (c *kubeletServiceController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		spec        k8s.KubeletSpecSpec
		join        secrets.KubeletSpec
		clock       timeres.StatusSpec
		resolvConf  files.EtcFileStatusSpec
		machineType config.MachineTypeSpec
		environment runtime.EnvironmentSpec
		issuer      *secrets.KubernetesRootSpec // of the kubelet's first certificate on a control plane
	)

	if f := typed.Read(ctx, rt, secrets.KubeletID, &join); f.Err != nil || !f.OK {
		if f.Err == nil {
			return c.stop(ctx) // there is no configuration any more
		}

		return f.Err
	}

	mounted, err := volume.Request(ctx, rt, c.name(), KubeletServiceID, block.VolumeEphemeral, c.stop)
	if err != nil || mounted == "" {
		return err
	}

	// The kubelet's certificates need a correct clock. A kubelet that runs is not stopped when the clock is wrong.
	ok, err := typed.All(
		typed.Read(ctx, rt, k8s.KubeletID, &spec), typed.Read(ctx, rt, timeres.StatusID, &clock), typed.Read(ctx, rt, files.PodResolvConf, &resolvConf),
		typed.Read(ctx, rt, config.MachineTypeID, &machineType), typed.Read(ctx, rt, runtime.EnvironmentID, &environment),
	)
	if err != nil || !ok || !clock.Usable() && c.running == "" {
		return err
	}

	if machineType.MachineType.IsControlPlane() {
		issuer = &secrets.KubernetesRootSpec{}

		if f := typed.Read(ctx, rt, secrets.KubernetesRootID, issuer); f.Err != nil || !f.OK {
			return f.Err
		}

		// Both are from the configuration, but one may be a moment behind. A kubelet must not join with the authority of the former one.
		if !slices.Equal(authorityOf(issuer.AcceptedCAs), authorityOf(join.AcceptedCAs)) {
			return nil
		}
	}

	var bundle files.EtcFileStatusSpec // none without authorities of the configuration

	if f := typed.Read(ctx, rt, files.CABundle, &bundle); f.Err != nil {
		return f.Err
	}

	return c.apply(ctx, spec, join, issuer, environment.Variables, bundle.SpecVersion, log)
}

// authorityOf returns the authority that signs, the first that is accepted.
func authorityOf(accepted []secrets.Cert) []byte {
	if len(accepted) == 0 {
		return nil
	}

	return accepted[0].Crt
}

func (c *kubeletServiceController) apply(
	ctx context.Context, spec k8s.KubeletSpecSpec, join secrets.KubeletSpec, issuer *secrets.KubernetesRootSpec, env []string, roots string, log *slog.Logger,
) error {
	contents, err := kubelet.Files(spec, join)
	if err != nil {
		return err
	}

	service := kubeletContainer(spec, env, roots, contents, c.platform, func(path string) bool { return exists(filepath.Join(c.root, path)) })
	if service.Fingerprint == c.running {
		return nil
	}

	if c.running != "" {
		if err := c.fetch.before(ctx, "kubelet", container.NamespaceSystem, c.image, spec.Image); err != nil {
			return err
		}
	}

	// Its files change only while it is down.
	if err := c.supervisor.Remove(ctx, KubeletServiceID); err != nil {
		return err
	}

	c.running = "" // even if the rest fails: then the former kubelet is started again when its settings are restored

	if err := prepareKubelet(c.root, spec, join, issuer, contents, log); err != nil {
		return err
	}

	if err := c.supervisor.Apply(service); err != nil {
		if errors.Is(err, supervisor.ErrClosed) {
			return nil
		}

		return err
	}

	c.running, c.image = service.Fingerprint, spec.Image

	return nil
}
