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

// ServiceID of containerd; the name users know.
const ServiceID = "cri"

// Environment of the programs of the system.
var environment = []string{
	"PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin:/opt/cni/bin",
	"HOME=/root",
	"TMPDIR=/tmp",
}

// ContainerdController starts containerd once its disks are mounted, and keeps the registry hosts as configured. loadModule
// is not called where the kernel is another's.
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
			if err != nil || cfg == nil {
				return err
			}

			stop := func(ctx context.Context) error { return sup.Remove(ctx, ServiceID) }

			// Asked for first: who mounts EPHEMERAL then knows of this one too. Layers are mounted from it.
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

			// The hosts name it.
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
					KeepChildren: true, // containers live on without containerd: they are found again
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

// coming tells of a volume that is not mounted whether that is only a matter of time. One that is ready was to be mounted with
// EPHEMERAL: if it is not, that has failed.
func coming(phase block.VolumePhase) bool {
	switch phase {
	case block.VolumePhaseMissing, block.VolumePhaseFailed, block.VolumePhaseReady, block.VolumePhaseClosed:
		return false
	default:
		return true
	}
}

// healthy is containerd's check. It is not healthy before it knows its snapshotter: the containers wait for that. What it
// was told once it keeps.
func healthy(at place) func(context.Context) error {
	if at.snapshotter == container.Overlayfs {
		return container.Healthy
	}

	return onceHealthy(container.Healthy, func(ctx context.Context) error { return container.UseSnapshotter(ctx, at.snapshotter) })
}

// onceHealthy does something until it has succeeded once, as part of a check: containerd keeps it, and each time is a write to
// the disk.
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

// writeHosts makes the hosts folder hold exactly what is configured.
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

	// containerd may read at any moment. The folder is made again at each boot.
	return durable.WriteTo(durable.Files{Volatile: true}, path, content, 0o600)
}
