// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/test/evidence"
	"github.com/seed-59268b81/talos/test/leak"
)

// supervisorEnv makes the test's own program the supervisor of a lab.
const supervisorEnv = "TALOS_TEST_LAB_SUPERVISOR"

func TestMain(m *testing.M) {
	if os.Getenv(supervisorEnv) != "" {
		runSupervisor(os.Args[len(os.Args)-1])
	}

	leak.Main(m)
}

// look is the guest's report of its network.
type look struct {
	PeerAddr, WorldAddr string
	Peer, Gateway       string
	ClockOffset         float64
	NTP                 string
	World               map[string]string
	Slow                time.Duration
}

// TestTwoMachines boots two real machines and tests the functions of a lab.
func TestTwoMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("boots two machines")
	}

	image := guestImage(t)
	dir := t.TempDir()
	start := time.Now()

	l, err := lab.Create(t.Context(), lab.Options{
		Name: "demo", StateDir: dir, ControlPlanes: 1, Workers: 1, Image: image, Offline: true, Seed: 1,
		ControlPlane: lab.Size{CPUs: 1, MemoryMiB: 192}, Worker: lab.Size{CPUs: 1, MemoryMiB: 192},
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := l.Destroy(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}

		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the lab's directory is left: %v", err)
		}
	})
	evidence.OnFailure(t, filepath.Join("..", "out"), evidence.Machines{Dir: dir})
	t.Logf("machines on after %v", time.Since(start).Round(time.Millisecond))

	one, two := l.Node(0), l.Node(1)

	for i, n := range l.Nodes() {
		got := booted(t, n)
		t.Logf("%s answers after %v, lease %v after kernel start", n.Name, time.Since(start).Round(time.Millisecond), got.Uptime)

		want := lease{
			Addr: []string{"10.5.0.2/24", "10.5.0.3/24"}[i], Hostname: []string{"demo-controlplane-1", "demo-worker-1"}[i],
			Router: "10.5.0.1", DNS: "10.5.0.1", NTP: "10.5.0.1",
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(lease{}, "Uptime")); d != "" {
			t.Errorf("lease of %s (-want +got):\n%s", n.Name, d)
		}
	}

	must := mustFor(t)

	t.Run("network", func(t *testing.T) { testNetwork(t, one, two) })
	t.Run("faults", func(t *testing.T) { testFaults(t, l, one, two) })
	t.Run("the guest reboots", func(t *testing.T) {
		_, _ = ask[any](t.Context(), one, "POST", "/reboot") // the connection breaks
		waitStatus(t, one, machine.Status{Power: machine.On, Why: "the guest rebooted", Boots: 2})
		booted(t, one)
	})
	t.Run("power cut", func(t *testing.T) {
		must(one.PowerCut(t.Context()))
		waitStatus(t, one, machine.Status{Power: machine.Off, Why: "power cut", Boots: 2})

		if got, err := ask[string](t.Context(), two, "GET", "/ping?to="+one.Addr.String()); err != nil || got == "ok" {
			t.Errorf("a machine without power answers: %q, %v", got, err)
		}

		must(one.PowerOn(t.Context()))
		booted(t, one)
	})
	t.Run("the guest powers off", func(t *testing.T) {
		_, _ = ask[any](t.Context(), two, "POST", "/poweroff")
		waitStatus(t, two, machine.Status{Power: machine.Off, Why: "the guest powered off", Boots: 1})

		if got, err := two.Findings(); err != nil || len(got) > 0 {
			t.Errorf("a clean run has findings %q, %v", got, err)
		}
	})
	t.Run("the guest panics", func(t *testing.T) {
		_, _ = ask[any](t.Context(), one, "POST", "/panic")
		waitStatus(t, one, machine.Status{Power: machine.On, Why: "the guest rebooted", Boots: 4}) // panic=1

		got, err := one.Findings()
		if all := strings.Join(got, "\n"); err != nil || !strings.Contains(all, "Go panic: ") || !strings.Contains(all, "kernel panic: ") {
			t.Errorf("got findings %q, %v, want the panics of Go and the kernel", got, err)
		}
	})
}

func testNetwork(t *testing.T, one, two *lab.Node) {
	for _, pair := range [][2]*lab.Node{{one, two}, {two, one}} {
		got, err := ask[look](t.Context(), pair[0], "GET", "/look?peer="+pair[1].Name)
		if err != nil {
			t.Fatal(err)
		}

		const unreachable = "network is unreachable"

		for to, what := range got.World { // the texts of the same error differ
			for _, refusal := range []string{"no route to host", unreachable, "unreachable"} {
				if strings.Contains(what, refusal) {
					got.World[to] = unreachable
				}
			}
		}

		want := look{
			PeerAddr: pair[1].Addr.String(), WorldAddr: "lookup registry.k8s.io on 10.5.0.1:53: no such host",
			Peer: "ok", Gateway: "ok", NTP: "ok",
			World: map[string]string{
				"192.0.2.1:443": unreachable, "198.51.100.7:80": unreachable, "ping 192.0.2.1": unreachable,
				"10.5.0.1:22": "dial tcp 10.5.0.1:22: connect: connection refused",
			},
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(look{}, "ClockOffset", "Slow")); d != "" {
			t.Errorf("%s sees (-want +got):\n%s", pair[0].Name, d)
		}

		// QEMU's clock equals this computer's to the second.
		if got.ClockOffset < -2 || got.ClockOffset > 2 {
			t.Errorf("clock offset %v s from this computer's time", got.ClockOffset)
		}

		if got.Slow > 3*time.Second {
			t.Errorf("the errors of an offline lab took %v, want none of them to wait", got.Slow)
		}
	}
}

func testFaults(t *testing.T, l *lab.Lab, one, two *lab.Node) {
	must := mustFor(t)
	ping := func() string {
		got, err := ask[string](t.Context(), one, "GET", "/ping?to="+two.Addr.String())
		if err != nil {
			t.Fatal(err)
		}

		return got
	}

	if got := ping(); got != "ok" {
		t.Fatalf("before any fault: %s", got)
	}

	must(l.Partition(t.Context(), []string{one.Name}, []string{two.Name}))

	if got := ping(); got == "ok" {
		t.Error("a ping passes the partition")
	}

	must(l.Heal(t.Context()))

	if got := ping(); got != "ok" {
		t.Errorf("after healing: %s", got)
	}

	must(two.SetLink(t.Context(), netswitch.Link{In: netswitch.Impairment{Delay: 300 * time.Millisecond}}))

	start := time.Now()
	if got := ping(); got != "ok" || time.Since(start) < 300*time.Millisecond {
		t.Errorf("with a delay of 300ms: %s after %v", got, time.Since(start))
	}

	status, err := two.Status(t.Context())
	if err != nil || status.Cards[0].Link.In.Delay != 300*time.Millisecond || status.Cards[0].Traffic.Received == 0 {
		t.Errorf("got status %+v, %v, want the fault and traffic", status, err)
	}

	must(two.SetLink(t.Context(), netswitch.Link{}))

	if err := two.SetLink(t.Context(), netswitch.Link{In: netswitch.Impairment{Loss: 2}}); err == nil {
		t.Error("a loss of 200% was accepted")
	}

	if err := l.SetPath(t.Context(), one.Name, "unknown", netswitch.Impairment{Cut: true}); err == nil {
		t.Error("a path to an unknown machine was accepted")
	}
}

func mustFor(t *testing.T) func(error) {
	return func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}
}

// waitStatus waits until a machine is as wanted.
func waitStatus(t *testing.T, n *lab.Node, want machine.Status) {
	t.Helper()

	var diff string

	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		got, err := n.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if diff = cmp.Diff(want, got.Machine, cmpopts.IgnoreFields(machine.Status{}, "PID", "Since")); diff == "" {
			return
		}
	}

	t.Errorf("status of %s (-want +got):\n%s", n.Name, diff)
}
