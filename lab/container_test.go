// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/evidence"
)

// guestRoot returns a root image with the guest of testdata as its process 1.
func guestRoot(t *testing.T) lab.Image {
	if os.Geteuid() != 0 {
		t.Skip("containers without root need subordinate ids and a delegated cgroup")
	}

	root := t.TempDir()
	for _, dir := range []string{"sbin", "dev", "proc", "sys", "run", "system", "tmp", "var"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	// The guest writes its resolv.conf there.
	if err := os.Symlink("run", filepath.Join(root, "etc")); err != nil {
		t.Fatal(err)
	}

	buildGuest(t, filepath.Join(root, "sbin/init"))

	return lab.Image{Root: root}
}

// TestTwoContainers tests the functions of a lab with containers.
func TestTwoContainers(t *testing.T) {
	image := guestRoot(t)
	dir := filepath.Join(t.TempDir(), "demo")
	before := lookAtHost(t)

	l, err := lab.Create(t.Context(), lab.Options{
		Name: "demo", StateDir: dir, ControlPlanes: 1, Workers: 1, Image: image, Offline: true, Seed: 1, Provisioner: state.Container,
		ControlPlane: lab.Size{CPUs: 1, MemoryMiB: 192}, Worker: lab.Size{CPUs: 1, MemoryMiB: 192},
	})
	if err != nil {
		t.Fatal(err)
	}

	cgroups := l.State().Cgroups

	t.Cleanup(func() {
		if err := l.Destroy(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}

		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the lab's directory is left: %v", err)
		}

		noneLeft(t, cgroups)

		if d := cmp.Diff(before, lookAtHost(t)); d != "" {
			t.Errorf("this computer was changed (-before +after):\n%s", d)
		}
	})
	evidence.OnFailure(t, filepath.Join("..", "out"), evidence.Machines{Dir: dir})

	if status, err := l.Status(t.Context()); err != nil || status.Accel != "" || !strings.HasPrefix(status.Containers, "this computer's kernel, as root") {
		t.Errorf("got %+v, %v, want a description of the containers, and no accelerator", status, err)
	}

	one, two := l.Node(0), l.Node(1)

	for i, n := range l.Nodes() {
		if info, err := os.Stat(l.State().NodeDir(n.Name)); err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o700 {
			t.Errorf("files of %s: got %v, want them closed to other users", n.Name, info.Mode())
		}

		want := lease{
			Addr: []string{"10.5.0.2/24", "10.5.0.3/24"}[i], Hostname: []string{"demo-controlplane-1", "demo-worker-1"}[i],
			Router: "10.5.0.1", DNS: "10.5.0.1", NTP: "10.5.0.1",
		}
		if d := cmp.Diff(want, booted(t, n), cmpopts.IgnoreFields(lease{}, "Uptime")); d != "" {
			t.Errorf("lease of %s (-want +got):\n%s", n.Name, d)
		}
	}

	if d := cmp.Diff(before, lookAtHost(t)); d != "" {
		t.Errorf("this computer is changed while containers run (-before +now):\n%s", d)
	}

	t.Run("network", func(t *testing.T) { testNetwork(t, one, two) })
	t.Run("faults", func(t *testing.T) { testFaults(t, l, one, two) })
	t.Run("a server of the test", func(t *testing.T) { testListen(t, l, two) })
	t.Run("confined", func(t *testing.T) { testConfined(t, one) })
	t.Run("power", func(t *testing.T) { testContainerPower(t, one, two) })
}

func testConfined(t *testing.T, n *lab.Node) {
	got, err := ask[map[string]string](t.Context(), n, "GET", "/confined")
	if err != nil {
		t.Fatal(err)
	}

	const readOnly, absent = "read-only file system", "no such file or directory"

	want := map[string]string{
		"the kernel's parameters": readOnly, "/": readOnly, "/sys": readOnly, "sysrq": "masked",
		"the kernel's log": absent, "a disk": absent,
		"the network's": "ok", "/run": "ok", "/tmp": "ok", "/var": "ok", "/system/state": "ok", "a console": "ok", "a cgroup": "ok",
	}

	// A file that this computer does not have needs no mask, and cannot be written.
	for name, path := range map[string]string{"sysrq": "/proc/sysrq-trigger", "a cgroup": "/sys/fs/cgroup/pids"} {
		if _, err := os.Stat(path); err != nil {
			delete(want, name)
			delete(got, name)
		}
	}

	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func testContainerPower(t *testing.T, one, two *lab.Node) {
	must := mustFor(t)

	_, _ = ask[any](t.Context(), one, "POST", "/reboot") // the connection breaks
	waitStatus(t, one, machine.Status{Power: machine.On, Why: "the guest rebooted", Boots: 2})
	booted(t, one)

	must(one.Reset(t.Context()))
	waitStatus(t, one, machine.Status{Power: machine.On, Why: "reset", Boots: 3})
	booted(t, one)

	must(one.PowerCut(t.Context()))
	waitStatus(t, one, machine.Status{Power: machine.Off, Why: "power cut", Boots: 3})

	if got, err := ask[string](t.Context(), two, "GET", "/ping?to="+one.Addr.String()); err != nil || got == "ok" {
		t.Errorf("a machine without power answers: %q, %v", got, err)
	}

	must(one.PowerOn(t.Context()))
	booted(t, one)
	must(one.PowerOff(t.Context()))
	waitStatus(t, one, machine.Status{Power: machine.Off, Why: "the guest powered off", Boots: 4})

	if got, err := one.Findings(); err != nil || len(got) > 0 {
		t.Errorf("a clean run has findings %q, %v", got, err)
	}

	if got := len(one.Consoles()); got != 4 {
		t.Errorf("consoles of %d boots are kept, want 4", got)
	}

	_, _ = ask[any](t.Context(), two, "POST", "/panic")
	waitStatus(t, two, machine.Status{Power: machine.On, Why: "process 1 ended with exit code 2", Boots: 2})
	booted(t, two)

	if got, err := two.Findings(); err != nil || !strings.Contains(strings.Join(got, "\n"), "Go panic: ") {
		t.Errorf("got findings %q, %v, want the panic of Go", got, err)
	}
}

// TestContainersOfKilledLab kills the supervisor. Its containers must end with it, and its leftovers must be found.
func TestContainersOfKilledLab(t *testing.T) {
	image := guestRoot(t)
	t.Setenv(supervisorEnv, "yes")

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	must := mustFor(t)
	before := lookAtHost(t)

	l, err := lab.Create(t.Context(), lab.Options{
		Name: "killed", StateDir: filepath.Join(t.TempDir(), "killed"), ControlPlanes: 1, Workers: 4, Image: image, Offline: true,
		Provisioner: state.Container, ControlPlane: lab.Size{CPUs: 1, MemoryMiB: 192}, Supervisor: []string{self},
	})
	must(err)

	t.Cleanup(func() { _ = l.Destroy(context.WithoutCancel(t.Context())) })
	evidence.OnFailure(t, filepath.Join("..", "out"), evidence.Machines{Dir: l.State().Dir})

	for _, n := range l.Nodes() {
		booted(t, n)
	}

	found, err := state.Load(l.State().Dir)
	must(err)
	must(found.Supervisor.Kill())

	for _, n := range found.Nodes {
		if !n.Process.WaitEnded(time.Minute) {
			t.Errorf("%s outlives its supervisor", n.Name)
		}
	}

	must(l.Start(t.Context()))

	for _, n := range l.Nodes() {
		booted(t, n)
	}

	found, err = state.Load(l.State().Dir)
	must(err)
	must(found.Supervisor.Kill())

	start := time.Now()
	must(l.Destroy(t.Context()))

	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("five machines were destroyed in %v, want 30s at most", took)
	}

	noneLeft(t, found.Cgroups)

	if d := cmp.Diff(before, lookAtHost(t)); d != "" {
		t.Errorf("this computer was changed (-before +after):\n%s", d)
	}
}

func noneLeft(t *testing.T, cgroups []string) {
	t.Helper()

	if len(cgroups) == 0 {
		t.Error("the lab has no cgroups")
	}

	for _, dir := range cgroups {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("cgroup %s is left: %v", dir, err)
		}
	}
}

// testListen has a machine ask a server of the test.
func testListen(t *testing.T, l *lab.Lab, n *lab.Node) {
	if _, err := l.Listen("elsewhere", 4000); err == nil || !strings.Contains(err.Error(), `no network "elsewhere"`) {
		t.Errorf("a network that does not exist: got %v", err)
	}

	listeners, err := l.Listen("lab", 4000)
	if err != nil {
		t.Fatal(err)
	}

	var servers sync.WaitGroup

	for _, listener := range listeners {
		servers.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return // it is closed
				}

				_, _ = conn.Write([]byte("hello"))
				_ = conn.Close()
			}
		})
	}

	got, err := ask[string](t.Context(), n, "GET", "/read?from=10.5.0.1:4000")
	if err != nil || got != "hello" {
		t.Errorf("got %q, %v, want the answer of the server", got, err)
	}

	for _, listener := range listeners {
		_ = listener.Close()
	}

	servers.Wait()

	if got, err := ask[string](t.Context(), n, "GET", "/read?from=10.5.0.1:4000"); err != nil || !strings.Contains(got, "refused") {
		t.Errorf("without the server: got %q, %v", got, err)
	}

	other, err := lab.Open(l.State().Dir)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := other.Listen("lab", 4000); err == nil || !strings.Contains(err.Error(), "runs in another process") {
		t.Errorf("a lab that another process may run: got %v", err)
	}
}
