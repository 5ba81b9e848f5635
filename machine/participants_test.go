// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/k8s"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/logring"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/logind"
	"github.com/seed-59268b81/talos/sys/platform"
)

// TestParticipants: the order of a shutdown follows from the running services and their dependencies.
func TestParticipants(t *testing.T) {
	bus, err := logind.Listen(filepath.Join(t.TempDir(), "dbus", "socket"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	m := &Machine{State: memory.New(), Supervisor: supervisor.New(ctx, slog.New(slog.DiscardHandler), logring.New(logring.DefaultBytes), nil)}
	participants := m.participants(bus)

	t.Cleanup(func() {
		cancel()

		for _, svc := range m.Supervisor.Services() {
			if err := m.Supervisor.Retire(context.Background(), svc.ID); err != nil {
				t.Error(err)
			}
		}
	})

	run := supervisor.Func(func(ctx context.Context, _ supervisor.Run) error {
		<-ctx.Done()

		return nil
	})

	for _, svc := range []supervisor.Service{
		{ID: "apid", Runner: run, UntilTheEnd: true},
		{ID: "cri", Runner: run},
		{ID: "etcd", Runner: run, DependsOn: []string{"cri"}},
		{ID: "kubelet", Runner: run, DependsOn: []string{"cri"}},
		{ID: "trustd", Runner: run, StopTimeout: time.Second},
	} {
		if err := m.Supervisor.Apply(svc); err != nil {
			t.Fatal(err)
		}
	}

	spec, err := kubelet.Spec(k8s.KubeletConfigSpec{}, kubelet.Node{Name: "n", Platform: platform.Platform{}})
	if err != nil {
		t.Fatal(err)
	}

	if err := typed.Set(t.Context(), m.State, "", k8s.KubeletID, spec); err != nil {
		t.Fatal(err)
	}

	got, changed, err := participants(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	needs, timeouts := map[string][]string{}, map[string]time.Duration{}
	for _, p := range got {
		needs[p.ID], timeouts[p.ID] = p.Needs, p.Timeout
	}

	want := map[string][]string{
		"evictions": {"pods", "kubelet", "etcd"}, "pods": {"kubelet", "etcd"},
		"announcement": {"volumes"}, "kubelet": {"cri", "volumes", "containers", "announcement"}, "etcd": {"cri", "volumes"},
		"containers": {"cri", "volumes"}, "cri": {"volumes"}, "trustd": {"volumes"}, "volumes": nil,
	}
	if diff := cmp.Diff(want, needs); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}

	if timeouts["pods"] <= 30*time.Second || timeouts["trustd"] != time.Second || timeouts["etcd"] != supervisor.DefaultStopTimeout {
		t.Errorf("timeouts: got %v", timeouts)
	}

	// A forced request evicts no pods: there is no API server here.
	for _, id := range []string{evictions, podsEnd} {
		i := slices.IndexFunc(got, func(p runtime.Participant) bool { return p.ID == id })
		if err := got[i].Stop(t.Context(), runtimeres.PowerRequestSpec{Force: true}); err != nil {
			t.Errorf("%s, forced: %v", id, err)
		}
	}

	if err := m.Supervisor.Remove(t.Context(), "trustd"); err != nil {
		t.Fatal(err)
	}

	<-changed
}

// TestWithdraw: a machine that loses its identity is announced no more, and goes on when no source is left. Any other stays announced.
func TestWithdraw(t *testing.T) {
	m := &Machine{State: memory.New()}
	stop := m.announcement().Stop

	for _, id := range []string{"first", "second"} {
		if err := typed.Set(t.Context(), m.State, "", id, cluster.DiscoverySourceSpec{}); err != nil {
			t.Fatal(err)
		}
	}

	if err := stop(t.Context(), runtimeres.PowerRequestSpec{Reset: true}); err != nil {
		t.Fatal(err)
	}

	signal, err := typed.Find[runtimeres.MachineResetSignalSpec](t.Context(), m.State, "", runtimeres.MachineResetSignalID)
	if err != nil || signal != nil {
		t.Errorf("a machine that keeps its identity: got %v, %v", signal, err)
	}

	done := make(chan error, 1)

	go func() { done <- stop(t.Context(), runtimeres.PowerRequestSpec{Reset: true, Forget: true}) }()

	if _, err := typed.WatchFor[runtimeres.MachineResetSignalSpec](t.Context(), m.State, "", runtimeres.MachineResetSignalID, nil); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"second", "first"} {
		select {
		case err := <-done:
			t.Fatalf("with a source left: got %v", err)
		default:
		}

		if err := typed.Destroy[cluster.DiscoverySourceSpec](t.Context(), m.State, "", id); err != nil {
			t.Fatal(err)
		}
	}

	if err := <-done; err != nil {
		t.Error(err)
	}
}
