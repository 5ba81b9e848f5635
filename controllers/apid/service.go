// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/sandbox"
	"github.com/seed-59268b81/talos/sys/supervisor"
)

// Process is how apid is started: the multi-call executable, apid's user, and the sockets that it needs.
type Process struct {
	Executable string
	UID        int
	// Sockets in whose folders it must be able to connect.
	Sockets []string
}

// ServiceController starts apid as soon as it is known how it shall listen. apid follows every later change itself.
func ServiceController(sup *supervisor.Supervisor, process Process) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.APIServiceController",
		Reads: []controller.Input{
			controller.In[runtime.APIServiceConfigSpec](controller.Weak, "", runtime.APIServiceConfigID),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			config, err := typed.Find[runtime.APIServiceConfigSpec](ctx, rt, "", runtime.APIServiceConfigID)
			if err != nil || config == nil {
				return err
			}

			box := sandbox.Box{
				Path: process.Executable, Argv: []string{"apid"},
				// The process has a limit of its cgroup; the collector should know it.
				Env: []string{"GOMEMLIMIT=96MiB", "GOGC=50"},
				UID: process.UID, GID: process.UID,
				ReadOnly: []string{process.Executable, "/etc/hosts", "/etc/resolv.conf"},
			}
			for _, socket := range process.Sockets {
				box.ReadOnly = append(box.ReadOnly, filepath.Dir(socket))
			}

			path, argv, env, err := box.Command(process.Executable)
			if err != nil {
				return err
			}

			err = sup.Apply(supervisor.Service{
				ID:     "apid",
				Runner: &supervisor.Process{Path: path, Argv: argv, Env: env, Cgroup: cgroup.Apid.Path, OOMScoreAdj: -998},
				Health: &supervisor.Health{Check: checkPort, InitialDelay: 100 * time.Millisecond, Timeout: 2 * time.Second},
				// It is the only way in: it is back at once.
				RestartInterval: time.Second,
			})
			if errors.Is(err, supervisor.ErrClosed) {
				return nil
			}

			return err
		},
	}
}

func checkPort(ctx context.Context) error {
	var dialer net.Dialer

	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("apid does not answer: %w", err)
	}

	return conn.Close()
}
