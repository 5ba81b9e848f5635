// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	clusterapi "github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// configure puts a configuration in effect.
func configure(t *testing.T, b *bench, text []byte) {
	t.Helper()

	cfg, err := config.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	set(t, b, configres.ActiveID, configres.NewMachineConfigSpec(cfg))
}

func TestPower(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleOperator)

	if _, err := b.machine.Reboot(ctx, &machine.RebootRequest{Mode: 77}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an unknown mode: got %v, want InvalidArgument", err)
	}

	for _, tt := range []struct {
		name string
		call func() (string, error)
		want runtime.PowerRequestSpec
	}{
		{"reboot", func() (string, error) {
			r, err := b.machine.Reboot(ctx, &machine.RebootRequest{})
			if err != nil {
				return "", err
			}

			return r.GetMessages()[0].GetActorId(), nil
		}, runtime.PowerRequestSpec{Action: runtime.PowerReboot}},
		{"forced reboot", func() (string, error) {
			r, err := b.machine.Reboot(ctx, &machine.RebootRequest{Mode: machine.RebootRequest_FORCE})
			if err != nil {
				return "", err
			}

			return r.GetMessages()[0].GetActorId(), nil
		}, runtime.PowerRequestSpec{Action: runtime.PowerReboot, Force: true}},
		{"shutdown", func() (string, error) {
			r, err := b.machine.Shutdown(ctx, &machine.ShutdownRequest{})
			if err != nil {
				return "", err
			}

			return r.GetMessages()[0].GetActorId(), nil
		}, runtime.PowerRequestSpec{Action: runtime.PowerShutdown}},
	} {
		actor, err := tt.call()
		if err != nil || actor == "" {
			t.Errorf("%s: got actor %q, %v", tt.name, actor, err)
		}

		request, err := typed.Get[runtime.PowerRequestSpec](t.Context(), b.State, "", runtime.PowerRequestID)
		if err != nil {
			t.Fatal(err)
		}

		if got := request.TypedSpec(); got.Action != tt.want.Action || got.Force != tt.want.Force || got.ActorID != actor {
			t.Errorf("%s: got the request %+v, want %+v by %s", tt.name, got, tt.want, actor)
		}

		if _, err := tt.call(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "already going down") {
			t.Errorf("a second %s: got %v, want FailedPrecondition", tt.name, err)
		}

		if err := b.State.Destroy(t.Context(), resource.PointerOf[runtime.PowerRequestSpec]("", runtime.PowerRequestID)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBootstrapRefusals(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	refused := func(request *machine.BootstrapRequest, code codes.Code, want string) {
		t.Helper()

		if _, err := b.machine.Bootstrap(ctx, request); status.Code(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %v with %q", err, code, want)
		}
	}

	refused(&machine.BootstrapRequest{}, codes.FailedPrecondition, "no configuration yet")
	configure(t, b, configtest.Worker(t))
	refused(&machine.BootstrapRequest{}, codes.FailedPrecondition, "only be performed on a control plane node")
	configure(t, b, configtest.ControlPlane(t))
	refused(&machine.BootstrapRequest{}, codes.FailedPrecondition, "time is not in sync")
	refused(&machine.BootstrapRequest{RecoverEtcd: true}, codes.FailedPrecondition, "time is not in sync")

	// A snapshot needs a disk too.
	stream, err := b.machine.EtcdRecover(ctx)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.CloseAndRecv(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "EPHEMERAL is not mounted") {
		t.Errorf("a snapshot: got %v, want FailedPrecondition", err)
	}
}

func TestEvents(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleReader)

	for _, service := range []string{"a", "b", "c"} {
		b.Ring.Publish(&machine.ServiceStateEvent{Service: service}, "actor-"+service)
	}

	read := func(request *machine.EventsRequest, count int) []*machine.Event {
		t.Helper()

		stream, err := b.machine.Events(ctx, request)
		if err != nil {
			t.Fatal(err)
		}

		var got []*machine.Event

		for range count {
			e, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}

			got = append(got, e)
		}

		return got
	}

	all := read(&machine.EventsRequest{TailEvents: -1}, 3)
	if all[0].GetData().GetTypeUrl() != "talos/runtime/machine.ServiceStateEvent" || all[2].GetActorId() != "actor-c" {
		t.Errorf("got %v", all)
	}

	if after := read(&machine.EventsRequest{TailId: all[0].GetId()}, 1); after[0].GetId() != all[1].GetId() {
		t.Errorf("after the first: got %v, want the second", after)
	}

	if of := read(&machine.EventsRequest{TailEvents: -1, WithActorId: "actor-b"}, 1); of[0].GetId() != all[1].GetId() {
		t.Errorf("of an actor: got %v, want the second", of)
	}

	stream, err := b.machine.Events(ctx, &machine.EventsRequest{TailId: "x"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("after an id that is not valid: got %v, want InvalidArgument", err)
	}
}

func TestHealthCheck(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleReader)

	check := func(timeout time.Duration) ([]string, error) {
		stream, err := b.cluster.HealthCheck(ctx, &clusterapi.HealthCheckRequest{WaitTimeout: durationpb.New(timeout)})

		return lines(stream, err)
	}

	if _, err := check(-time.Second); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no time: got %v, want InvalidArgument", err)
	}

	if _, err := check(time.Minute); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no configuration yet") {
		t.Errorf("maintenance: got %v, want FailedPrecondition", err)
	}

	configure(t, b, configtest.Worker(t))

	if _, err := check(time.Minute); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "call a control plane node") {
		t.Errorf("worker: got %v, want FailedPrecondition", err)
	}

	configure(t, b, configtest.ControlPlane(t))

	got, err := check(2 * time.Second)
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "waiting for etcd to be healthy: service etcd is not there yet; see: talosctl services") {
		t.Errorf("without etcd: got %v, want DeadlineExceeded", err)
	}

	if want := "waiting for etcd to be healthy: ...|waiting for etcd to be healthy: service etcd is not there yet"; strings.Join(got, "|") != want {
		t.Errorf("got lines %q, want %q", got, want)
	}
}

func lines(stream grpc.ServerStreamingClient[clusterapi.HealthCheckProgress], err error) ([]string, error) {
	var all []string

	for err == nil {
		var m *clusterapi.HealthCheckProgress

		if m, err = stream.Recv(); err == nil {
			all = append(all, m.GetMessage())
		}
	}

	return all, err
}
