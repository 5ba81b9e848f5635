// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	clusterapi "github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/config"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	cosiserver "github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/machine/events"
	"github.com/seed-59268b81/talos/machine/server/servertest"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/service/logring"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cmdline"
	sysmeta "github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// bench is machined's API on a real socket, with its state and services.
type bench struct {
	*Server

	machine machine.MachineServiceClient
	cluster clusterapi.ClusterServiceClient
	states  cosiapi.StateClient
	conn    *grpc.ClientConn
	// disk is the folder used as the STATE partition.
	disk string
}

// newMeta is the META partition of a machine that never had a configuration.
type newMeta struct{}

func (newMeta) Get(sysmeta.Tag) ([]byte, error) { return nil, nil }
func (newMeta) Set(sysmeta.Tag, []byte) error   { return nil }
func (newMeta) Delete(sysmeta.Tag) error        { return nil }

func newBench(t *testing.T) *bench {
	t.Helper()

	log := slog.New(slog.DiscardHandler)
	logs := logring.New(logring.DefaultBytes)
	ctx, cancel := context.WithCancel(context.Background())
	st := memory.New()

	b := &bench{disk: t.TempDir(), Server: &Server{
		State: st, Outputs: logs, Ring: &events.Ring{}, Journal: bootlog.New(bootlog.DefaultLimits), Log: log,
		Supervisor: supervisor.New(ctx, log, logs, nil),
		Config:     config.New(fstest.MapFS{}, cmdline.Parse(""), platform.Platform{}, nil, newMeta{}, func(error) {}),
	}}

	g := New(log, testPeers.Options(Authorized(st), Bounded())...)
	b.Register(g)
	cosiapi.RegisterStateServer(g, cosiserver.New(ReadOnly(st, ByRole(st))))

	l, err := Listen(filepath.Join(t.TempDir(), "run", "machine.sock"), 0o660, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cancel()

		ended(t, b.Supervisor)
	})

	b.conn = servertest.Serve(t, g, l)
	b.machine, b.cluster, b.states = machine.NewMachineServiceClient(b.conn), clusterapi.NewClusterServiceClient(b.conn), cosiapi.NewStateClient(b.conn)

	b.define(t)

	return b
}

// define registers some types of the machine, so that clients can read them.
func (b *bench) define(t *testing.T) {
	t.Helper()

	for _, register := range []func() error{meta.RegisterTypes, configres.Register, network.Register, secrets.Register, block.Register} {
		if err := register(); err != nil {
			t.Fatal(err)
		}
	}

	if err := meta.Register(t.Context(), b.State); err != nil {
		t.Fatal(err)
	}

	for _, def := range []*resource.Definition{
		configres.MachineConfigSpec{}.Definition(), network.HostnameStatusSpec{}.Definition(), secrets.OSRootSpec{}.Definition(),
	} {
		if err := meta.RegisterDefinition(t.Context(), b.State, def); err != nil {
			t.Fatal(err)
		}
	}
}

// runConfig runs the controller of configurations, with its own folder as disk.
func (b *bench) runConfig(t *testing.T) {
	t.Helper()

	rt := runtime.New(b.State, b.Log)
	if err := rt.RegisterController(b.Config); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	mounted := resource.New[block.VolumeMountStatusSpec]("", "config-STATE")
	mounted.TypedSpec().Target = b.disk

	if err := b.State.Create(t.Context(), mounted); err != nil {
		t.Fatal(err)
	}

	// The controller accepts a configuration only when it holds the volume.
	held := func(e state.Event) bool { return len(e.Resource.Metadata().Finalizers()) > 0 }
	if _, err := b.State.WatchFor(t.Context(), mounted.Metadata().Pointer(), held); err != nil {
		t.Fatal(err)
	}
}

// service makes the supervisor run fn.
func (b *bench) service(t *testing.T, s supervisor.Service, fn func(context.Context, supervisor.Run) error) {
	t.Helper()

	s.Runner = supervisor.Func(fn)
	if err := b.Supervisor.Apply(s); err != nil {
		t.Fatal(err)
	}
}

// set writes a resource.
func set[S resource.Spec](t *testing.T, b *bench, id string, spec S) {
	t.Helper()

	if err := typed.Set(t.Context(), b.State, "", id, spec); err != nil {
		t.Fatal(err)
	}
}

// as returns a context for calls with the roles, as apid makes them.
func as(ctx context.Context, roles ...string) context.Context {
	md := metadata.MD{}
	md.Set(contract.KeyRole, roles...)

	return metadata.NewOutgoingContext(ctx, md)
}

// eventually waits until done returns true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()

	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// ended waits for the services of a supervisor whose context has ended.
func ended(t *testing.T, sup *supervisor.Supervisor) {
	t.Helper()

	for _, svc := range sup.Services() {
		if err := sup.Retire(context.Background(), svc.ID); err != nil {
			t.Error(err)
		}
	}
}
