// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/nstest"
)

func TestContainerMounts(t *testing.T) {
	at := func(targets ...string) []mount.Entry {
		var out []mount.Entry
		for _, target := range targets {
			out = append(out, mount.Entry{Target: target})
		}

		return out
	}

	for _, tt := range []struct {
		name  string
		table []mount.Entry
		want  []string
	}{
		{"nothing is mounted", at("/", "/proc", "/sys"), inContainer},
		{"all is", at(slices.Concat([]string{"/", "/var", "/system/state"}, inContainer)...), nil},
		{"as engines do", at("/", "/proc", "/sys", "/sys/fs/cgroup", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/run", "/tmp"), []string{"/system"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range containerMounts(Mounts(), tt.table) {
				got = append(got, p.Target)
			}

			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}

	for _, target := range inContainer {
		if !slices.ContainsFunc(Mounts(), func(p mount.Point) bool { return p.Target == target }) {
			t.Errorf("%s is not a mount of the system", target)
		}
	}
}

// On the real kernel: the replacements of the host's files are read-only, and the files themselves do not change.
func TestStandIn(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Fatal(err)
	}

	// The replacements are in a folder of the image, which a test may lack.
	if err := os.Mkdir("/system", 0o755); err == nil {
		t.Cleanup(func() { os.Remove("/system") })
	}

	if err := (mount.Point{Source: "tmpfs", Target: "/system", FSType: "tmpfs"}).Mount(); err != nil {
		t.Skipf("no mount: %v", err)
	}

	t.Cleanup(func() { unix.Unmount("/system", unix.MNT_DETACH) })

	want := standIns("a boot of its own\n")
	before := map[string]string{}

	for target := range want {
		if text, err := os.ReadFile(target); err == nil {
			before[target] = string(text)
		}
	}

	want["/proc/sys/kernel/of/no/kernel"] = "1"

	if err := standIn(want); err != nil {
		t.Fatal(err)
	}

	for target := range before {
		got, err := os.ReadFile(target)
		if err != nil || string(got) != want[target] {
			t.Errorf("%s: got %q, %v, want %q", target, got, err, want[target])
		}

		if err := os.WriteFile(target, []byte("x"), 0); err == nil {
			t.Errorf("%s can be written", target)
		}

		if err := unix.Unmount(target, 0); err != nil {
			t.Errorf("%s: %v", target, err)
		}

		if after, err := os.ReadFile(target); err != nil || string(after) != before[target] {
			t.Errorf("%s of the host: got %q, %v, want %q", target, after, err, before[target])
		}
	}
}

// The whole function in namespaces, from a root without mounts, and again on the result.
func TestEarlyContainer(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	root := t.TempDir()
	enterEmptyRoot(t, root)

	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}

	t.Setenv("PLATFORM", "container")

	for again := range 2 {
		if err := earlyContainer(false); err != nil {
			t.Fatalf("%d: %v", again, err)
		}

		table, err := mount.Table()
		if err != nil {
			t.Fatal(err)
		}

		for _, target := range []string{"/run", "/system", "/tmp", "/dev/shm", "/dev/pts"} {
			count := 0

			for _, e := range table {
				if e.Target == target {
					count++
				}
			}

			if count != 1 {
				t.Errorf("%d: %s is mounted %d times", again, target, count)
			}
		}
	}

	for _, dir := range []string{"/system/state", "/run/containerd", "/system/etc/cri"} {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}

	if text, err := os.ReadFile("/proc/cmdline"); err != nil || strings.TrimSpace(string(text)) != "" {
		t.Errorf("kernel arguments: got %q, %v, want none", text, err)
	}

	if target, err := os.Readlink("/dev/kmsg"); err != nil || target != "/dev/null" {
		t.Errorf("/dev/kmsg: got %q, %v", target, err)
	}

	if os.Getenv("PLATFORM") != "" || os.Getenv("PATH") == "" {
		t.Errorf("environment: got %q", os.Environ())
	}

	var after unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &after); err != nil || after.Max > limit.Max {
		t.Errorf("limit of open files: got %d, %v, want no more than %d", after.Max, err, limit.Max)
	}
}

// enterEmptyRoot makes a folder the root of this process, with the mounts of a container engine.
func enterEmptyRoot(t *testing.T, root string) {
	t.Helper()

	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Fatal(err)
	}

	points := []mount.Point{
		{Source: "tmpfs", Target: root, FSType: "tmpfs"},
		{Source: "proc", Target: filepath.Join(root, "proc"), FSType: "proc"},
		{Source: "tmpfs", Target: filepath.Join(root, "dev"), FSType: "tmpfs"},
		{Source: "tmpfs", Target: filepath.Join(root, "sys/fs/cgroup"), FSType: "tmpfs"},
	}

	if err := mount.All(points); err != nil {
		t.Skipf("no mounts: %v", err)
	}

	for _, dir := range slices.Concat(EtcDirs, []string{"/tmp", "/run", "/system", "/old"}) {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := unix.PivotRoot(root, filepath.Join(root, "old")); err != nil {
		t.Skipf("no new root: %v", err)
	}

	// The test's own files must be in place when it ends.
	t.Cleanup(func() {
		unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "") // the next step says it

		if err := unix.PivotRoot("/old", filepath.Join("/old", root)); err != nil {
			t.Error(err)
		}

		unix.Unmount(root, unix.MNT_DETACH) // it ends with the namespace
	})

	if err := os.Chdir("/"); err != nil {
		t.Fatal(err)
	}
}
