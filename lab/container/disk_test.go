// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/lab/machine"
)

// writesTo is an environment variable with the file that TestWrites writes to.
const writesTo = "TALOS_TEST_WRITES_TO"

// writes is how many writes the process of TestWrites makes, each until the disk has it.
const writes = 8

// TestWrites is the process that TestSlowDisk starts.
func TestWrites(t *testing.T) {
	name := os.Getenv(writesTo)
	if name == "" {
		t.Skip("TestSlowDisk starts it")
	}

	// It begins when it is in its cgroup.
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	for range writes {
		if _, err := file.Write(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}

		if err := file.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowDisk limits the writes of a machine's processes, and of those in cgroups that the machine has made.
func TestSlowDisk(t *testing.T) {
	m := newMachine(t)

	if err := m.SetDisk(t.Context(), machine.Disk{Writes: 4}); !errors.Is(err, machine.ErrOff) {
		t.Errorf("a machine that is off: got %v, want %v", err, machine.ErrOff)
	}

	if err := m.On(t.Context()); err != nil {
		t.Fatal(err)
	}

	if _, err := diskOf(t.TempDir()); err != nil {
		t.Skipf("the folder for temporary files: %v", err)
	}

	// As the machine's container runtime makes them. In v2 the controllers of the machine's own cgroup are not for those below it, as a
	// cgroup with processes has none to give away.
	for _, dir := range m.cfg.Cgroup.dirs() {
		if err := makeCgroup(filepath.Join(dir, "pod")); err != nil {
			t.Fatal(err)
		}
	}

	pod := m.cfg.Cgroup
	pod.name = filepath.Join(pod.name, "pod")

	const slow = 2

	if err := m.SetDisk(t.Context(), machine.Disk{Writes: slow}); err != nil {
		t.Skip(err) // without the controller
	}

	// The kernel lets some writes through at once.
	if took := write(t, m, pod); took < (writes-3)*time.Second/slow {
		t.Errorf("%d writes at %d per second took %s", writes, slow, took)
	}

	if err := m.SetDisk(t.Context(), machine.Disk{}); err != nil {
		t.Fatal(err)
	}

	if took := write(t, m, pod); took > (writes-3)*time.Second/slow {
		t.Errorf("%d writes without a limit took %s", writes, took)
	}
}

// write has a process in a cgroup write, and returns how long that took.
func write(t *testing.T, m *Machine, c Cgroup) time.Duration {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWrites$") //program:self the test
	cmd.Env = append(os.Environ(), writesTo+"="+filepath.Join(m.cfg.Dir, ephemeralDir, "file"))

	begin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	joined := c.join(cmd.Process.Pid)
	start := time.Now()
	_, written := begin.Write([]byte{'x'})

	if err := errors.Join(joined, written, cmd.Wait()); err != nil {
		t.Fatal(err)
	}

	return time.Since(start)
}

// TestLimitOfWrites checks what is written into the files of both versions of cgroups.
func TestLimitOfWrites(t *testing.T) {
	folder := t.TempDir()

	disk, err := diskOf(folder)
	if err != nil {
		t.Skip(err)
	}

	for _, tt := range []struct {
		file string
		most int
		want string
	}{
		{writes2, 7, disk + " wiops=7"},
		{writes2, 0, disk + " wiops=max"},
		{writes1, 7, disk + " 7"},
		{writes1, 0, disk + " 0"},
	} {
		root := t.TempDir()
		inner := filepath.Join(root, "lab", "one", "pod")

		if err := os.MkdirAll(inner, 0o755); err != nil {
			t.Fatal(err)
		}

		for _, dir := range []string{filepath.Dir(inner), inner} {
			if err := os.WriteFile(filepath.Join(dir, tt.file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}

		lab := &Cgroups{all: []hierarchy{{own: root}}, name: "lab"}
		if err := lab.Machine("one").limitWrites(folder, tt.most); err != nil {
			t.Fatal(err)
		}

		below := tt.want
		if tt.file == writes2 {
			below = "" // the limit of the one above holds
		}

		got := []map[string]string{contents(t, filepath.Dir(inner)), contents(t, inner)}
		if d := cmp.Diff([]map[string]string{{tt.file: tt.want}, {tt.file: below}}, got); d != "" {
			t.Errorf("%s, %d writes (-want +got):\n%s", tt.file, tt.most, d)
		}
	}

	empty := &Cgroups{all: []hierarchy{{own: t.TempDir()}}, name: "lab"}
	if err := empty.Machine("one").limitWrites(folder, 7); err == nil {
		t.Error("without a controller: got no error")
	}

	if err := empty.Machine("one").limitWrites(folder, 0); err != nil {
		t.Errorf("no limit without a controller: %v", err)
	}
}
