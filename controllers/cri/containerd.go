// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package cri holds the controllers around the one containerd of the machine: its registry hosts, the service itself,
// and the image cache that it pulls from first.
package cri

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform"
)

// ServiceID is the name of containerd's service.
const ServiceID = "cri"

// environment of containerd.
var environment = []string{
	"PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin:/opt/cni/bin",
	"HOME=/root",
	"TMPDIR=/tmp",
}

// containerdController starts containerd once its volumes are mounted, and writes its files.
type containerdController struct {
	supervisor Supervisor
	platform   platform.Platform
	registry   *RegistryPort
	// root is the folder of all files that are written: / except in tests.
	root string
	// loadModule is not called where the kernel is the host's.
	loadModule func(name string, params ...string) error

	// at is set once it is known.
	at place
	// readOnly is why /opt cannot be written to, as it was logged last.
	readOnly string
}

func (*containerdController) name() string { return "cri.ContainerdController" }

// ContainerdController starts containerd once its volumes are mounted, and writes its files: its configuration, which it reads at its start
// only, and the hosts and certificates of registries. loadModule is not called where the kernel is the host's.
func ContainerdController(
	sup Supervisor, p platform.Platform, registry *RegistryPort, loadModule func(name string, params ...string) error,
) controller.Controller {
	return (&containerdController{supervisor: sup, platform: p, registry: registry, root: "/", loadModule: loadModule}).controller()
}

func (c *containerdController) controller() controller.Controller {
	return &controller.Reconciler{
		ControllerName: c.name(),
		Reads: append(volume.Inputs(),
			fromconfig.Input(),
			controller.In[block.VolumeStatusSpec](controller.Weak, "", block.VolumeImageCache),
			controller.In[cri.RegistriesConfigSpec](controller.Weak, "", cri.RegistriesID),
			controller.In[cri.CustomizationConfigSpec](controller.Weak, "", cri.CustomizationID),
			controller.In[cri.BaseRuntimeSpecConfigSpec](controller.Weak, "", cri.BaseRuntimeSpecID),
			controller.In[runtime.EnvironmentSpec](controller.Weak, "", runtime.EnvironmentID),
			controller.In[files.EtcFileStatusSpec](controller.Weak, "", files.CABundle),
		),
		Writes:    []controller.Output{volume.Output()},
		Reconcile: c.reconcile,
	}
}

func (c *containerdController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	cfg, err := typed.Find[config.MachineConfigSpec](ctx, rt, "", config.ActiveID)
	if err != nil || cfg == nil || !cfg.TypedSpec().View().Complete() {
		return err
	}

	if ready, err := c.mounted(ctx, rt); err != nil || !ready {
		return err
	}

	in, err := readInputs(ctx, rt, cfg.TypedSpec().View())
	if err != nil || in == nil {
		return err
	}

	// The image cache is at this port.
	if err := c.registry.hold(ctx, log); err != nil {
		return err
	}

	// Nothing is pulled before these are there.
	if err := writeRules(filepath.Join(c.root, layout.ImageRules), in.rules); err != nil {
		return err
	}

	if err := writeHosts(filepath.Join(c.root, container.HostsDir), in.registries, in.roots); err != nil {
		return err
	}

	if err := writeCredentials(filepath.Join(c.root, layout.RegistryCredentials), in.registries.RegistryAuths); err != nil {
		return err
	}

	if c.at == (place{}) {
		if c.at, err = placeOf(c.platform, rootDir, layersDir, c.loadModule, log); err != nil {
			return err
		}
	}

	c.openOpt(log)

	return c.apply(in)
}

// openOpt makes /opt writable before the first pod mounts it: those of other CNIs install their plugins there. A machine works without. The
// overlay is unmounted with EPHEMERAL.
func (c *containerdController) openOpt(log *slog.Logger) {
	text := ""

	if err := mount.Writable(filepath.Join(c.root, layout.OptDir), filepath.Join(c.root, layout.OptOverlay)); err != nil {
		text = err.Error()
	}

	if text != "" && text != c.readOnly {
		log.Warn("pods cannot install programs on this machine, such as the plugins of a CNI", "error", text)
	}

	c.readOnly = text
}

// mounted requests containerd's volumes, and reports whether it can start.
func (c *containerdController) mounted(ctx context.Context, rt controller.Runtime) (bool, error) {
	stop := func(ctx context.Context) error { return c.supervisor.Remove(ctx, ServiceID) }

	// Request this one first, so that the controller that mounts EPHEMERAL sees both requests. Layers are mounted from the image cache.
	cache, err := volume.Request(ctx, rt, c.name(), ServiceID, block.VolumeImageCache, stop)
	if err != nil {
		return false, err
	}

	ephemeral, err := volume.Request(ctx, rt, c.name(), ServiceID, block.VolumeEphemeral, stop)
	if err != nil || ephemeral == "" || cache != "" {
		return ephemeral != "", err
	}

	status, err := typed.Find[block.VolumeStatusSpec](ctx, rt, "", block.VolumeImageCache)
	if err != nil || status == nil {
		return false, err
	}

	return !coming(status.TypedSpec().Phase), nil
}

// apply starts containerd, or starts it again with other settings.
func (c *containerdController) apply(in *inputs) error {
	set := chosen{auths: in.registries.RegistryAuths, customization: in.customization.Content}

	var spec []byte

	if len(in.baseSpec.Object) > 0 {
		var err error

		if spec, err = baseSpec(in.baseSpec.Object); err != nil {
			return err
		}

		set.baseSpec = layout.BaseRuntimeSpec
		if err := writeIfChanged(filepath.Join(c.root, set.baseSpec), spec); err != nil {
			return err
		}
	}

	rendered, err := renderConfig(c.at, set)
	if err != nil {
		return err
	}

	if err := writeIfChanged(filepath.Join(c.root, ConfigPath), rendered); err != nil {
		return err
	}

	env := slices.Concat(environment, in.environment.Variables)

	err = c.supervisor.Apply(supervisor.Service{
		ID:          ServiceID,
		Fingerprint: fmt.Sprintf("%s\x00%s\x00%q\x00%s", rendered, spec, env, in.bundle.SpecVersion),
		Runner: &supervisor.Process{
			Path: "/usr/bin/containerd", Argv: []string{"containerd", "--config", ConfigPath, "--log-level", "info"},
			Env: env, Cgroup: cgroup.Containerd.Path, OOMScoreAdj: -500,
			KeepChildren: true, // containers run on without containerd, which finds them again
		},
		Health:          &supervisor.Health{Check: healthy(c.at), InitialDelay: 100 * time.Millisecond, Timeout: healthTimeout, Failures: 6},
		RestartInterval: time.Second,
	})
	if errors.Is(err, supervisor.ErrClosed) {
		return nil
	}

	return err
}

// coming reports whether a volume may still be mounted. One that is ready should have been mounted with EPHEMERAL: its mount has failed.
func coming(phase block.VolumePhase) bool {
	switch phase {
	case block.VolumePhaseMissing, block.VolumePhaseFailed, block.VolumePhaseReady, block.VolumePhaseClosed:
		return false
	default:
		return true
	}
}

// healthy returns containerd's health check. containerd is not healthy before its snapshotter is set, since containers wait for that. It keeps
// the setting.
func healthy(at place) func(context.Context) error {
	if at.snapshotter == container.Overlayfs {
		return container.Healthy
	}

	return onceHealthy(container.Healthy, func(ctx context.Context) error { return container.UseSnapshotter(ctx, at.snapshotter) })
}

// onceHealthy returns a check that also calls do, until do has succeeded once: each call writes to the disk.
func onceHealthy(check, do func(context.Context) error) func(context.Context) error {
	var done atomic.Bool

	return func(ctx context.Context) error {
		if err := check(ctx); err != nil || done.Load() {
			return err
		}

		if err := do(ctx); err != nil {
			return err
		}

		done.Store(true)

		return nil
	}
}
