// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package machine is PID 1: it puts together the state, the controllers, the services and the API server, and then
// only waits. Nothing here says in which order things happen; a controller acts when its inputs exist.
package machine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc"

	cosi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/apid"
	"github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
	cosiserver "github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/machine/boot"
	"github.com/seed-59268b81/talos/machine/events"
	"github.com/seed-59268b81/talos/machine/server"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/logring"
	"github.com/seed-59268b81/talos/sys/reaper"
	"github.com/seed-59268b81/talos/sys/supervisor"
	"github.com/seed-59268b81/talos/version"
)

// Main is process 1 after the switch into the root. It does not return.
func Main() {
	logs := logring.New(logring.DefaultBytes)

	log := newLog(logs, slog.LevelInfo)
	log.Info("starting", "version", version.Tag)

	err := boot.Early()
	if err == nil {
		err = run(context.Background(), log, logs)
	}

	log.Error("the system cannot run", "error", err)
	boot.Halt(func(format string, args ...any) { log.Error(fmt.Sprintf(format, args...)) })
}

func run(ctx context.Context, log *slog.Logger, logs *logring.Logs) error {
	tree := cgroup.Tree{Root: cgroup.Mount}

	if err := errors.Join(tree.Create(cgroup.All()...), tree.Add(cgroup.Init, os.Getpid())); err != nil {
		// The system runs without its reservations; that is worth a word, not an end.
		log.Error("the cgroups are not as they should be", "error", err)
	}

	go reaper.Run(ctx)

	ring := &events.Ring{}
	state := memory.New()
	sup := supervisor.New(ctx, log, logs, func(st supervisor.Status) { ring.Publish(serviceEvent(st), "") })

	m := &Machine{
		State: state, Supervisor: sup, Events: ring, Log: log,
		server: &server.Server{State: state, Supervisor: sup, Outputs: logs, Ring: ring, Log: log},
	}

	if err := registerDefinitions(ctx, state); err != nil {
		return err
	}

	rt := runtime.New(state, log)

	all, err := m.controllers()
	if err != nil {
		return err
	}

	for _, c := range all {
		if err := rt.RegisterController(c); err != nil {
			return err
		}
	}

	if err := block.StartVolumes(ctx, state); err != nil {
		return err
	}

	if err := errors.Join(sup.Apply(m.apiService()), sup.Apply(m.runtimeService())); err != nil {
		return err
	}

	return rt.Run(ctx)
}

// Machine holds what the parts share.
type Machine struct {
	State      *memory.State
	Supervisor *supervisor.Supervisor
	Events     *events.Ring
	Log        *slog.Logger

	server *server.Server
}

// apiService is machined's own API, a service like any other: if it ever ends, it is started again.
func (m *Machine) apiService() supervisor.Service {
	return m.unixService(ServiceID, server.Socket, func() *grpc.Server {
		g := server.New(m.Log, server.Authorized()...)
		m.server.Register(g)
		cosi.RegisterStateServer(g, cosiserver.New(server.ReadOnly(m.State, server.ByRole(m.State))))

		return g
	})
}

// runtimeService shows apid the few resources that it needs.
func (m *Machine) runtimeService() supervisor.Service {
	return m.unixService("apid-resources", apid.RuntimeSocket, func() *grpc.Server {
		g := server.New(m.Log)
		cosi.RegisterStateServer(g, cosiserver.New(server.ReadOnly(m.State, server.Only(apid.Kinds()...))))

		return g
	})
}

// unixService serves on a socket that root and apid may use.
func (m *Machine) unixService(id, path string, newServer func() *grpc.Server) supervisor.Service {
	return supervisor.Service{
		ID: id,
		Runner: supervisor.Func(func(ctx context.Context, _ supervisor.Run) error {
			l, err := server.Listen(path, 0o660, 0, apid.UID)
			if err != nil {
				return err
			}

			g := newServer()

			stop := context.AfterFunc(ctx, g.Stop)
			defer stop()

			return g.Serve(l)
		}),
		RestartInterval: time.Second,
	}
}
