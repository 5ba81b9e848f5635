// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/sandbox"
	"github.com/seed-59268b81/talos/sys/supervisor"
)

// Process is how one of the doors is started: the multi-call executable, the door's user, and the sockets that it needs.
type Process struct {
	Executable string
	UID        int
	// Sockets in whose folders it must be able to connect.
	Sockets []string
}

// APIService is the API's door. It is started with the machine and opens as soon as it is known how it shall listen:
// by then the process has long begun. It follows every later change itself.
func APIService(process Process) (supervisor.Service, error) {
	return process.service("apid", cgroup.Apid, port)
}

// service is the door's: boxed, under its own user, and back at once when it ends.
func (p Process) service(name string, group cgroup.Group, port int) (supervisor.Service, error) {
	box := sandbox.Box{
		Path: p.Executable, Argv: []string{name},
		// The process has a limit of its cgroup; the collector should know it.
		Env: []string{"GOMEMLIMIT=96MiB", "GOGC=50"},
		UID: p.UID, GID: p.UID,
		ReadOnly: []string{p.Executable, "/etc/hosts", "/etc/resolv.conf"},
	}
	for _, socket := range p.Sockets {
		box.ReadOnly = append(box.ReadOnly, filepath.Dir(socket))
	}

	path, argv, env, err := box.Command(sandbox.Stage)
	if err != nil {
		return supervisor.Service{}, err
	}

	return supervisor.Service{
		ID: name,
		//program:image the stage of package sandbox
		Runner: &supervisor.Process{Path: path, Argv: argv, Env: env, Cgroup: group.Path, OOMScoreAdj: -998},
		Health: &supervisor.Health{
			Check:        func(ctx context.Context) error { return checkPort(ctx, name, port) },
			InitialDelay: 100 * time.Millisecond, Timeout: 2 * time.Second,
		},
		RestartInterval: time.Second,
	}, nil
}

func checkPort(ctx context.Context, name string, port int) error {
	var dialer net.Dialer

	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", name, err)
	}

	return conn.Close()
}
