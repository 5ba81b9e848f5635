// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/supervisor"
)

func runSupervisor(dir string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	if err := supervisor.Run(ctx, dir, slog.New(slog.NewTextHandler(os.Stderr, nil)), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	os.Exit(0)
}

// bootless returns options for a lab of machines that do nothing: a kernel without a root.
func bootless(t *testing.T) lab.Options {
	image := lab.Image{Kernel: kernelPaths(t).Vmlinuz(), Cmdline: "console=ttyS0 panic=-1"}

	t.Setenv(supervisorEnv, "yes")

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	return lab.Options{
		Name: "proc", StateDir: t.TempDir() + "/proc", ControlPlanes: 1, Image: image, Offline: true,
		ControlPlane: lab.Size{CPUs: 1, MemoryMiB: 64}, Supervisor: []string{self},
	}
}

// TestSupervisorProcess tests a lab that outlives the process that created it.
func TestSupervisorProcess(t *testing.T) {
	o := bootless(t)
	must := mustFor(t)

	l, err := lab.Create(t.Context(), o)
	must(err)

	t.Cleanup(func() { _ = l.Destroy(context.WithoutCancel(t.Context())) })

	if _, err := lab.Create(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is running already") {
		t.Errorf("a second lab in the same place: got %v", err)
	}

	// Another program finds the lab.
	found, err := lab.Open(o.StateDir, o.Supervisor...)
	must(err)

	status, err := found.Status(t.Context())
	must(err)

	if got := status.Nodes[0].Machine.Power; got != machine.On {
		t.Errorf("got power %s, want on", got)
	}

	port := found.Node(0).APIPort

	// The supervisor is killed: its machine must not live on.
	s, err := state.Load(o.StateDir)
	must(err)

	if s.Nodes[0].Process == nil || !s.Nodes[0].Process.Alive() {
		t.Fatalf("the state lacks the machine's process: %+v", s.Nodes[0])
	}

	must(s.Supervisor.Kill())

	if !s.Nodes[0].Process.WaitEnded(time.Minute) {
		t.Error("the machine outlives its supervisor")
	}

	if _, err := found.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "was killed or crashed") {
		t.Errorf("status of a crashed lab: got %v", err)
	}

	if _, err := lab.Create(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cluster reboot starts it") {
		t.Errorf("a new lab in the place of a crashed one: got %v", err)
	}

	// It is started again with the same ports.
	must(found.Start(t.Context()))

	if got := found.Node(0).APIPort; got != port {
		t.Errorf("got port %d after the start, want %d", got, port)
	}

	if err := found.Start(t.Context()); err == nil {
		t.Error("a running lab was started")
	}

	must(found.Stop(t.Context()))

	s, err = state.Load(o.StateDir)
	must(err)

	if s.Condition() != state.Stopped || s.Nodes[0].Process != nil {
		t.Errorf("after stop: %s, machine %+v", s.Condition(), s.Nodes[0].Process)
	}

	must(found.Start(t.Context()))
	must(found.Destroy(t.Context()))

	if _, err := os.Stat(o.StateDir); !os.IsNotExist(err) {
		t.Errorf("the lab's directory is left: %v", err)
	}

	if _, err := lab.Open(o.StateDir); err == nil || !strings.Contains(err.Error(), "there is no lab") {
		t.Errorf("a destroyed lab: got %v", err)
	}
}

func TestCreateExplainsFailure(t *testing.T) {
	o := bootless(t)
	o.Image.Kernel = os.Args[0] // QEMU reports the error

	_, err := lab.Create(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "QEMU did not start") {
		t.Errorf("a file that is not a kernel: got %v", err)
	}

	if _, err := os.Stat(o.StateDir); !os.IsNotExist(err) {
		t.Errorf("a failed lab leaves its directory: %v", err)
	}
}
