// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hardware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
)

// UdevdID is the id of the service.
const UdevdID = "udevd"

// udevEnvironment has udevd and udevadm write to their output, and not to the log of systemd or the kernel.
var udevEnvironment = []string{"SYSTEMD_LOG_TARGET=console", "PATH=/usr/bin:/usr/sbin"}

// Udevadm runs udevadm with arguments and returns what it prints; RunUdevadm outside of tests.
type Udevadm func(ctx context.Context, args ...string) (string, error)

// RunUdevadm is the Udevadm of the image.
func RunUdevadm(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "/usr/bin/udevadm", args...)
	cmd.Env = udevEnvironment

	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("udevadm %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}

	return string(out), nil
}

// Applier starts services; supervisor.Supervisor outside of tests.
type Applier interface {
	Apply(supervisor.Service) error
}

// UdevdController runs Debian's systemd-udevd, which creates the links in /dev/disk and follows the rules of the image and of the
// configuration. The image has neither its rule that loads drivers, which the controllers of the kernel do sooner, nor the one that renames
// links. It is started when settled is closed: after the API is up, when all devices have their drivers. A goroutine waits for that.
func UdevdController(sup Applier, run Udevadm, settled <-chan struct{}) controller.Controller {
	waiting := false

	return &controller.Reconciler{
		ControllerName: "runtime.UdevServiceController",
		Reads:          []controller.Input{controller.In[files.EtcFileStatusSpec](controller.Weak, "", layout.UdevRules)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			select {
			case <-settled:
			default:
				if !waiting {
					waiting = true

					guard.Detach(log, "start of udevd", func() {
						select {
						case <-settled:
							rt.QueueReconcile()
						case <-ctx.Done():
						}
					})
				}

				return nil
			}

			if f := typed.Read(ctx, rt, layout.UdevRules, &files.EtcFileStatusSpec{}); !f.OK {
				return f.Err
			}

			if err := sup.Apply(udevd(run)); !errors.Is(err, supervisor.ErrClosed) {
				return err
			}

			return nil
		},
	}
}

func udevd(run Udevadm) supervisor.Service {
	return supervisor.Service{
		ID: UdevdID,
		Runner: &supervisor.Process{
			// The program has several names. It handles few events at once, so that those of a boot do not slow the rest of it.
			Path: "/usr/bin/udevadm", Argv: []string{"systemd-udevd", "--children-max=2"},
			Env: udevEnvironment, Cgroup: cgroup.Udevd.Path, OOMScoreAdj: -998,
		},
		Health: &supervisor.Health{
			Check: func(ctx context.Context) error {
				_, err := run(ctx, "control", "--ping", "--timeout=10")

				return err
			},
			InitialDelay: 100 * time.Millisecond, Period: time.Minute, Timeout: 15 * time.Second, Failures: 3,
		},
		RestartInterval: time.Second,
	}
}
