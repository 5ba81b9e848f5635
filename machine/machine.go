// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package machine is process 1. It creates the state, the controllers, the services and the API server, and then waits. It does
// not order what happens: a controller acts when its inputs exist.
package machine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/apid"
	apidctl "github.com/seed-59268b81/talos/controllers/apid"
	"github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/introspect"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/namespaced"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	cosiserver "github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/discovery/carrier"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/machine/boot"
	"github.com/seed-59268b81/talos/machine/events"
	"github.com/seed-59268b81/talos/machine/server"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/service/logring"
	"github.com/seed-59268b81/talos/service/logsend"
	"github.com/seed-59268b81/talos/service/podimages"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/acpi"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud/guestinfo"
	"github.com/seed-59268b81/talos/sys/reaper"
	"github.com/seed-59268b81/talos/trustd"
	"github.com/seed-59268b81/talos/version"
)

// memoryLimit of process 1, in bytes. Process 1 needs a fifth of it. Above it the garbage collector runs more often: the kernel
// cannot kill process 1 when memory is short.
const memoryLimit = 256 << 20

// Main is process 1 after the switch to the root image. It does not return. It must be called on the first thread, on which the
// reaper runs.
func Main() {
	debug.SetMemoryLimit(memoryLimit)

	signals := holdSignals()
	ctx, cancel := context.WithCancel(context.Background())

	ended := guard.Go(func() error {
		defer cancel()

		begin(signals)

		return nil
	})

	if err := reaper.Run(ctx); err != nil {
		slog.Error("orphans are not reaped", "error", err)
	}

	// begin ends the machine. If that fails, the panic makes the kernel do it.
	panic(fmt.Sprintf("process 1 has nothing left to run: %v", <-ended))
}

// begin runs the system. When that fails, it logs the error and ends the machine.
func begin(signals <-chan os.Signal) {
	logs := logring.New(logring.DefaultBytes)
	journal := bootlog.New(bootlog.DefaultLimits)
	outlet := &logsend.Outlet{}
	logs.Tap = func(id string, line []byte) {
		journal.Append(id, line)
		outlet.Append(id, line)
	}

	place, err := platform.Detect()

	log := newLog(place, logs, slog.LevelInfo)
	log.Info("starting", "version", version.Tag, "platform", place.Name())

	if err == nil {
		m := &Machine{State: memory.New(), Events: &events.Ring{}, Journal: journal, Outlet: outlet, Log: log, Platform: place}
		err = guard.Call(func() error { return m.start(context.Background(), logs, signals) })
	}

	log.Error("the system cannot run", "error", err)

	if lost := keepEnd(journal, fmt.Sprintf("the system could not run: %v", err)); lost != nil {
		log.Error("the logs of this boot could not be kept", "error", lost)
	}

	if place.Mode == platform.Container {
		os.Exit(1) // the container engine reports it, and has the log
	}

	boot.Halt(err, func(format string, args ...any) { log.Error(fmt.Sprintf(format, args...)) })
}

// keepEnd records why the boot ends. It gives up after a while, as a failing disk may be the reason.
func keepEnd(journal *bootlog.Journal, reason string) error {
	const patience = 10 * time.Second

	select {
	case err := <-guard.Go(func() error { return errors.Join(journal.End(reason), journal.Close()) }):
		return err
	case <-time.After(patience):
		return fmt.Errorf("write the logs of this boot: timed out after %s", patience)
	}
}

// start makes the mounts and, in parallel, registers the types: both take a while on a slow machine.
func (m *Machine) start(ctx context.Context, logs *logring.Logs, signals <-chan os.Signal) error {
	var (
		modules *module.Loader
		err     error
	)

	if m.Platform.Owns(platform.KernelModules) {
		if modules, err = module.NewLoader(); err != nil {
			return err
		}
	}

	defined := guard.Go(func() error { return registerDefinitions(ctx, m.State) })

	if m.Platform.Owns(platform.KernelLog) {
		if err := keepCrashes(modules.Load); err != nil {
			m.Log.Warn("the trace of a crash is shown on the console only", "error", err)
		}
	}

	if m.args, err = boot.Early(m.Platform, modules); err != nil {
		return err
	}

	if m.Platform, err = completed(m.Platform, m.args, "/sys", guestinfo.Check); err != nil {
		m.Log.Error("the machine starts as one on no cloud", "error", err)
	}

	if err := <-defined; err != nil {
		return err
	}

	guard.Detach(m.Log, "signals", func() { obey(ctx, m.State, m.Log, signals) })

	return m.run(ctx, logs, modules)
}

func (m *Machine) run(ctx context.Context, logs *logring.Logs, modules *module.Loader) error {
	if err := makeGroups(m.Platform); err != nil {
		// The system can run without reservations.
		m.Log.Error("the services run without their cgroups", "error", err)
	}

	if m.Platform.Owns(platform.KernelLog) {
		guard.Detach(m.Log, "kernel log", func() { keepKernelLog(ctx, m.Log, m.Journal) })
	}

	m.Supervisor = supervisor.New(ctx, m.Log, logs, func(st supervisor.Status) { m.Events.Publish(serviceEvent(st), "") })

	m.shared = clusterstate.New()
	settled := make(chan struct{})

	if m.Platform.Owns(platform.KernelModules) {
		guard.Detach(m.Log, "drivers", func() { afterAPI(ctx, m.Log, m.Supervisor, modules, settled) })
		guard.Detach(m.Log, "power button", func() { obeyButton(ctx, m.State, m.Log, acpi.Listen) })
	} else {
		close(settled)
	}

	m.server = &server.Server{
		State: m.State, Supervisor: m.Supervisor, Outputs: logs, Ring: m.Events, Journal: m.Journal, Log: m.Log, Platform: m.Platform,
	}

	if err := m.startAPID(); err != nil {
		return err
	}

	rt := runtime.New(m.State, m.Log)
	rt.ShowFailures()
	m.server.Graph, m.metrics = rt.Graph, rt.Metrics

	all, err := m.controllers(modules, settled)
	if err != nil {
		return err
	}

	for _, c := range all {
		if err := rt.RegisterController(c); err != nil {
			return err
		}
	}

	if err := block.StartVolumes(ctx, m.State); err != nil {
		return err
	}

	if err := errors.Join(m.Supervisor.Apply(m.apiService()), m.Supervisor.Apply(m.trustdResources()), m.Supervisor.Apply(m.discoverydResources()), m.Supervisor.Apply(m.podImages())); err != nil {
		return err
	}

	return rt.Run(ctx)
}

// makeGroups creates the services' cgroups if the machine has a tree for them.
func makeGroups(place platform.Platform) error {
	if !place.Owns(platform.CgroupReservations) {
		return nil
	}

	tree := cgroup.Tree{Root: cgroup.Mount}

	var err error

	if place.Mode == platform.Container {
		err = tree.Vacate(cgroup.Init)
	}

	return errors.Join(err, tree.Create(cgroup.All()...), tree.Add(cgroup.Init, os.Getpid()))
}

// afterAPI waits until the API is up, with a timeout. Then it loads the drivers of all other devices, closes settled, and loads
// the modules that pods will need.
func afterAPI(ctx context.Context, log *slog.Logger, sup *supervisor.Supervisor, modules *module.Loader, settled chan<- struct{}) {
	const patience = 5 * time.Second

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	up := func(s supervisor.Status) bool { return s.ID == "apid" && s.Up() }

	for changed := sup.Changes(); !slices.ContainsFunc(sup.List(), up) && ctx.Err() == nil; changed = sup.Changes() {
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}

	coldplug(log, modules, settled)

	if err := mount.All(boot.LateMounts()); err != nil {
		log.Warn("a file system is not mounted", "error", err)
	}

	if err := boot.Preload(modules); err != nil {
		log.Warn("not every kernel module could be preloaded", "error", err)
	}
}

// coldplug loads the drivers of all devices. It closes settled even when it panics, as controllers wait for it.
func coldplug(log *slog.Logger, modules *module.Loader, settled chan<- struct{}) {
	defer close(settled)

	if err := modules.Coldplug("/sys"); err != nil {
		log.Warn("not every driver could be loaded", "error", err)
	}
}

// Machine is the state that the parts of process 1 share.
type Machine struct {
	State      *memory.State
	Supervisor *supervisor.Supervisor
	Events     *events.Ring
	Journal    *bootlog.Journal
	Outlet     *logsend.Outlet
	Log        *slog.Logger
	Platform   platform.Platform

	shared  *clusterstate.Shared
	server  *server.Server
	metrics func() []runtime.Metrics // of the controllers
	args    cmdline.Cmdline
}

// apiService returns machined's own API as a service, which is restarted when it ends.
func (m *Machine) apiService() supervisor.Service {
	peers := m.peers(map[string][]string{"apid": contract.Roles()})

	return m.unixService(ServiceID, contract.MachineSocket, layout.UserAPID, func() *grpc.Server {
		g := server.New(m.Log, peers.Options(server.Authorized(m.State), server.Bounded())...)
		m.server.Register(g)
		cosiapi.RegisterStateServer(g, cosiserver.New(server.ReadOnly(m.shown(), server.ByRole(m.State))))

		return g
	})
}

// shown returns the state that clients see, which includes the metrics of the controllers and the resources in etcd.
func (m *Machine) shown() state.State {
	metrics := introspect.New(m.metrics)

	return namespaced.New(func(namespace string) state.State {
		switch namespace {
		case introspect.NamespaceName:
			return metrics
		case clusterstateres.NamespaceName:
			return m.shared
		default:
			return m.State
		}
	})
}

// startAPID starts apid before its backends: a process of its size takes a while to start.
func (m *Machine) startAPID() error {
	service, err := apidctl.APIService(apidctl.Process{
		Executable: executable, UID: layout.UserAPID, Sockets: []string{contract.MachineSocket, contract.APIDSocket},
	})
	if err != nil {
		return err
	}

	resources := m.resources("apid", contract.APIDSocket, layout.UserAPID, apid.Kinds())

	return errors.Join(m.Supervisor.Apply(resources), m.Supervisor.Apply(service))
}

// trustdResources returns the service that shows trustd its certificate, and signs for it.
func (m *Machine) trustdResources() supervisor.Service {
	signer := trustd.NewSigner(m.Log.With("service", "trustd"), m.State)

	return m.resources("trustd", contract.TrustdSocket, layout.UserTrustd, trustd.Kinds(), func(g *grpc.Server) {
		securityapi.RegisterSecurityServiceServer(g, signer)
	})
}

// discoverydResources returns the service that shows discoveryd its certificate and the cluster that it serves.
func (m *Machine) discoverydResources() supervisor.Service {
	return m.resources("discoveryd", contract.DiscoverydSocket, layout.UserDiscoveryd, carrier.Kinds())
}

// podImages returns the service through which the kubelet pulls images while there are rules about images.
func (m *Machine) podImages() supervisor.Service {
	peers := m.peers(map[string][]string{k8s.KubeletServiceID: nil})
	images := &podimages.Server{Containerd: layout.ContainerdSocket, Log: m.Log.With("service", "images")}

	return m.unixService("images", contract.ImageSocket, 0, func() *grpc.Server {
		return server.New(m.Log, append(peers.Options(), images.Options()...)...)
	})
}

// resources returns a service that serves the kinds, and what register adds, on a socket for the process of one other service.
func (m *Machine) resources(service, socket string, uid int, kinds []resource.Kind, register ...func(*grpc.Server)) supervisor.Service {
	peers := m.peers(map[string][]string{service: nil})

	return m.unixService(service+"-resources", socket, uid, func() *grpc.Server {
		g := server.New(m.Log, peers.Options()...)
		cosiapi.RegisterStateServer(g, cosiserver.New(server.ReadOnly(m.State, server.Only(kinds...))))

		for _, r := range register {
			r(g)
		}

		return g
	})
}

// peers returns the services that may use a socket, with the roles that they may pass on.
func (m *Machine) peers(roles map[string][]string) server.Peers {
	return server.Peers{Service: server.Supervised(m.Supervisor), Roles: roles}
}

// unixService returns a service that serves gRPC on a socket for root and one user.
func (m *Machine) unixService(id, path string, uid int, newServer func() *grpc.Server) supervisor.Service {
	return supervisor.Service{
		ID: id,
		Runner: supervisor.Func(func(ctx context.Context, _ supervisor.Run) error {
			l, err := server.Listen(path, 0o660, 0, uid)
			if err != nil {
				return err
			}

			g := newServer()

			stop := context.AfterFunc(ctx, g.Stop)
			defer stop()

			return g.Serve(l)
		}),
		RestartInterval: time.Second, UntilTheEnd: true,
	}
}
