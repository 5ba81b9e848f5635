// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
)

// TestContainerBesideVirtualMachine checks that both kinds of machines share a network and its faults.
func TestContainerBesideVirtualMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("boots a virtual machine")
	}

	image := guestRoot(t)
	virtual := guestImage(t)
	image.Kernel, image.Initrd, image.Cmdline = virtual.Kernel, virtual.Initrd, virtual.Cmdline

	must := mustFor(t)

	l, err := lab.Create(t.Context(), lab.Options{
		Name: "mixed", StateDir: filepath.Join(t.TempDir(), "mixed"), ControlPlanes: 1, Workers: 1, Image: image, Offline: true,
		Provisioner: state.Container, WorkerProvisioner: state.QEMU,
		ControlPlane: lab.Size{CPUs: 1, MemoryMiB: 192}, Worker: lab.Size{CPUs: 1, MemoryMiB: 192},
	})
	must(err)

	t.Cleanup(func() {
		if err := l.Destroy(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})

	status, err := l.Status(t.Context())
	must(err)

	if status.Accel == "" || !strings.Contains(status.Containers, "this computer's kernel") {
		t.Errorf("got accel %q and containers %q, want both set", status.Accel, status.Containers)
	}

	container, machine := l.Node(0), l.Node(1)
	booted(t, container)
	booted(t, machine)

	ping := func(from, to *lab.Node) string {
		t.Helper()

		got, err := ask[string](t.Context(), from, "GET", "/ping?to="+to.Addr.String())
		must(err)

		return got
	}

	for _, pair := range [][2]*lab.Node{{container, machine}, {machine, container}} {
		if got := ping(pair[0], pair[1]); got != "ok" {
			t.Errorf("from %s to %s: got %q, want ok", pair[0].Name, pair[1].Name, got)
		}
	}

	must(l.SetPath(t.Context(), container.Name, machine.Name, netswitch.Impairment{Cut: true}))

	if got := ping(machine, container); got == "ok" {
		t.Error("a ping passes a path that is cut")
	}
}
