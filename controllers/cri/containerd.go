// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package cri holds the controllers around the one containerd of the machine: its registry hosts, the service itself,
// and the image cache that it pulls from first.
package cri

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
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

// ContainerdController starts containerd once its volumes are mounted, and writes the registry hosts of the configuration. loadModule is not
// called where the kernel is the host's.
func ContainerdController(
	sup *supervisor.Supervisor, p platform.Platform, registry *RegistryPort, loadModule func(name string, params ...string) error,
) controller.Controller {
	const name = "cri.ContainerdController"

	var at place // once it is known

	return &controller.Reconciler{
		ControllerName: name,
		Reads: append(volume.Inputs(),
			controller.In[config.MachineConfigSpec](controller.Weak, "", config.ActiveID),
			controller.In[block.VolumeStatusSpec](controller.Weak, "", block.VolumeImageCache),
		),
		Writes: []controller.Output{volume.Output()},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			cfg, err := typed.Find[config.MachineConfigSpec](ctx, rt, "", config.ActiveID)
			if err != nil || cfg == nil || !cfg.TypedSpec().View().Complete() {
				return err
			}

			stop := func(ctx context.Context) error { return sup.Remove(ctx, ServiceID) }

			// Request this one first, so that the controller that mounts EPHEMERAL sees both requests. Layers are mounted from the image cache.
			cache, err := volume.Request(ctx, rt, name, ServiceID, block.VolumeImageCache, stop)
			if err != nil {
				return err
			}

			mounted, err := volume.Request(ctx, rt, name, ServiceID, block.VolumeEphemeral, stop)
			if err != nil || mounted == "" {
				return err
			}

			if cache == "" {
				status, err := typed.Find[block.VolumeStatusSpec](ctx, rt, "", block.VolumeImageCache)
				if err != nil || status == nil || coming(status.TypedSpec().Phase) {
					return err
				}
			}

			// The registry hosts name this port.
			if _, err := registry.hold(ctx); err != nil {
				return err
			}

			if err := writeHosts(container.HostsDir, cfg.TypedSpec().View().Registries()); err != nil {
				return err
			}

			if at == (place{}) {
				if at, err = placeOf(p, rootDir, layersDir, loadModule, log); err != nil {
					return err
				}
			}

			rendered, err := renderConfig(at)
			if err != nil {
				return err
			}

			if err := writeIfChanged(ConfigPath, rendered); err != nil {
				return err
			}

			err = sup.Apply(supervisor.Service{
				ID:          ServiceID,
				Fingerprint: string(rendered),
				Runner: &supervisor.Process{
					Path: "/usr/bin/containerd", Argv: []string{"containerd", "--config", ConfigPath, "--log-level", "info"},
					Env: environment, Cgroup: cgroup.Containerd.Path, OOMScoreAdj: -500,
					KeepChildren: true, // containers run on without containerd, which finds them again
				},
				Health:          &supervisor.Health{Check: healthy(at), InitialDelay: 100 * time.Millisecond, Timeout: healthTimeout, Failures: 6},
				RestartInterval: time.Second,
			})
			if errors.Is(err, supervisor.ErrClosed) {
				return nil
			}

			return err
		},
	}
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

// writeHosts writes the hosts folder, and removes other files from it.
func writeHosts(dir string, registries view.Registries) error {
	files, err := renderHosts(registries)
	if err != nil {
		return err
	}

	for path, content := range files {
		if err := writeIfChanged(filepath.Join(dir, path), content); err != nil {
			return err
		}
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}

	for _, e := range entries {
		if _, ok := files[e.Name()+"/hosts.toml"]; !ok {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}

	return nil
}

func writeIfChanged(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	// containerd may read the file at any time. The folder is created again at each boot.
	return durable.WriteTo(durable.Files{Volatile: true}, path, content, 0o600)
}
