// SPDX-License-Identifier: Apache-2.0

package block

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/uevent"
)

// TestRealKernel partitions, formats, mounts, grows and unmounts a loop device that has only META at first, also after an interrupted
// mkfs.
func TestRealKernel(t *testing.T) {
	for _, tool := range []string{"mkfs.xfs", "xfs_growfs", "losetup"} {
		hosttest.Need(t, tool)
	}

	if !nstest.Isolate(t) {
		return
	}

	// The targets of STATE, IMAGECACHE and EPHEMERAL are in the root of a machine; here they are below a folder.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("cannot make mounts private: %v", err)
	}

	root := t.TempDir()
	image := filepath.Join(root, "disk")
	loop := newDisk(t, image, 3*gib)

	// Early boot has mounted a tmpfs there already; the volume hides it.
	if err := (mount.Point{Source: "tmpfs", Target: root + "/mnt/var", FSType: "tmpfs"}).Mount(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := mount.Unmount(root + "/mnt/var"); err != nil {
			t.Error(err)
		}
	})

	m := boot(t, loop, root)
	m.wait(block.VolumeState, block.VolumePhaseReady)
	m.wait(block.VolumeEphemeral, block.VolumePhaseReady)
	m.wait(block.VolumeMeta, block.VolumePhaseReady)
	m.wait(block.VolumeImageCache, block.VolumePhaseMissing)

	state := m.request("test", block.VolumeState)
	ephemeral := m.request("test", block.VolumeEphemeral)

	if err := os.WriteFile(state+"/config.yaml", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	for target, want := range map[string]uintptr{state: mount.NoSuid | mount.NoDev | mount.NoExec, ephemeral: mount.NoSuid | mount.NoDev} {
		if got, err := flagsOf(target); err != nil || got != want {
			t.Errorf("flags of %s: got %#x, %v, want %#x", target, got, err, want)
		}
	}

	st, err := os.Stat(ephemeral + "/lib/etcd")
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("etcd's folder: got %v, %v, want mode 0700", st, err)
	}

	// Mounts on the volume are unmounted first.
	if err := unix.Mount("tmpfs", ephemeral+"/mnt", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}

	m.stop()

	if got, want := below(t, root), []string{root + "/mnt/var"}; !slices.Equal(got, want) {
		t.Errorf("after the stop: mounted are %v, want %v", got, want)
	}

	if _, err := os.Stat(root + "/mnt/var/lib"); !os.IsNotExist(err) {
		t.Errorf("a folder of the volume in what it hid: got %v, want not found", err)
	}

	// The disk grows, and the mkfs of STATE was interrupted.
	if err := os.Truncate(image, 4*gib); err != nil {
		t.Fatal(err)
	}

	run(t, "losetup", "-c", loop)
	scribble(t, loop+"p2", []byte{1}, 126)

	m = boot(t, loop, root)
	ephemeral = m.request("test", block.VolumeEphemeral)
	state = m.request("test", block.VolumeState)

	if _, err := os.Stat(state + "/config.yaml"); !os.IsNotExist(err) {
		t.Errorf("a file on a volume that was formatted again: got %v, want not found", err)
	}

	var fs unix.Statfs_t
	if err := unix.Statfs(ephemeral, &fs); err != nil || fs.Blocks*uint64(fs.Bsize) < 3700*mib {
		t.Errorf("grown: got %d MiB, %v, want nearly 3.9 GiB", fs.Blocks*uint64(fs.Bsize)/mib, err)
	}

	m.stop()

	// Unknown data is left alone.
	scribble(t, loop+"p2", bytes.Repeat([]byte("data"), 1024), 0)

	m = boot(t, loop, root)
	if got := m.wait(block.VolumeState, block.VolumePhaseFailed); !strings.Contains(got.ErrorMessage, "unknown data") {
		t.Errorf("got error %q, want one of unknown data", got.ErrorMessage)
	}

	m.wait(block.VolumeEphemeral, block.VolumePhaseReady)
	m.stop()
}

// machine runs the controllers on one loop device.
type machine struct {
	t    *testing.T
	st   state.State
	end  context.CancelFunc
	done chan error
	log  *logText
}

// logText collects the log of the controllers; it is safe for concurrent use.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.String()
}

func boot(t *testing.T, loop, root string) *machine {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	m := &machine{t: t, st: memory.New(), end: cancel, done: make(chan error, 1), log: &logText{}}
	rt := runtime.New(m.st, slog.New(slog.NewTextHandler(m.log, nil)))

	// Only the loop device: the controllers must not touch the disks of the host.
	sys := only(t, filepath.Base(loop))

	for _, c := range Controllers(platform.Platform{}, "", nil) {
		switch c.Name() {
		case "block.DevicesController":
			c = &DevicesController{Sys: sys, Listen: uevent.Listen}
		case "block.VolumeManagerController":
			c = VolumeManagerController(Partitioner{Sys: disk.Sys}, &ResetAtBoot{World: ResetWorld(true, sys, 0)}, "")
		case "block.VolumeConfigController":
			continue
		}

		if err := rt.RegisterController(c); err != nil {
			t.Fatal(err)
		}
	}

	for id, v := range systemVolumes() {
		if v.Mount.TargetPath != "" {
			v.Mount.TargetPath = filepath.Join(root, "mnt", v.Mount.TargetPath)
		}

		m.ok(typed.Set(ctx, m.st, "", id, v))
	}

	m.ok(StartVolumes(ctx, m.st))

	go func() { m.done <- rt.Run(ctx) }()

	return m
}

func (m *machine) ok(err error) {
	m.t.Helper()

	if err != nil {
		m.t.Fatalf("%v\n%s", err, m.log)
	}
}

func (m *machine) wait(id string, phase block.VolumePhase) block.VolumeStatusSpec {
	m.t.Helper()

	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()

	r, err := m.st.WatchFor(ctx, resource.PointerOf[block.VolumeStatusSpec]("", id), state.ResourceIs(func(r resource.Resource) bool {
		return r.Spec().(*block.VolumeStatusSpec).Phase == phase
	}))
	m.ok(err)

	return *r.Spec().(*block.VolumeStatusSpec)
}

func (m *machine) request(who, volume string) string {
	m.t.Helper()

	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()

	id := who + "-" + volume
	m.ok(typed.Set(ctx, m.st, "", id, block.VolumeMountRequestSpec{VolumeID: volume, Requester: who}))

	r, err := m.st.WatchFor(ctx, resource.PointerOf[block.VolumeMountStatusSpec]("", id), state.PhaseIs(resource.PhaseRunning))
	m.ok(err)

	return r.Spec().(*block.VolumeMountStatusSpec).Target
}

func (m *machine) stop() {
	m.t.Helper()

	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()

	m.ok(StopVolumes(ctx, m.st))
	m.end()
	m.ok(<-m.done)
	m.t.Logf("%s", m.log)
}

// newDisk creates a disk image with META, on a loop device.
func newDisk(t *testing.T, image string, size int64) string {
	t.Helper()

	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}

	table, err := gpt.New(uint64(size), 512)
	if err != nil {
		t.Fatal(err)
	}

	p := gpt.Partition{Label: block.VolumeMeta, Type: gpt.TypeLinuxData}
	if _, err := table.Add(p, layout.MetaSize, layout.MetaSize); err != nil {
		t.Fatal(err)
	}

	if err := table.Write(f); err != nil {
		t.Fatal(err)
	}

	out, err := exec.CommandContext(t.Context(), hosttest.Need(t, "losetup"), "-P", "-f", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device can be had: %v: %s", err, out)
	}

	loop := strings.TrimSpace(string(out))

	t.Cleanup(func() { run(t, "losetup", "-d", loop) })

	// Some kernels do not read the partition tables of loop devices.
	d, err := disk.Open(loop, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	if err := d.AddPartition(1, mib, layout.MetaSize); err != nil {
		t.Skipf("the kernel takes no partitions: %v", err)
	}

	if _, err := os.Stat(loop + "p1"); err != nil {
		t.Skipf("no device of a partition appears (no devtmpfs): %v", err)
	}

	return loop
}

// only creates a sysfs with links to one disk and its present and future partitions.
func only(t *testing.T, name string) string {
	t.Helper()

	sys := t.TempDir()
	if err := os.MkdirAll(filepath.Join(sys, "class/block"), 0o755); err != nil {
		t.Fatal(err)
	}

	links := []string{name}
	for n := range 9 {
		links = append(links, name+"p"+string(rune('1'+n)))
	}

	for _, l := range links {
		if err := os.Symlink(filepath.Join(disk.Sys, "class/block", l), filepath.Join(sys, "class/block", l)); err != nil {
			t.Fatal(err)
		}
	}

	return sys
}

func scribble(t *testing.T, path string, b []byte, offset int64) {
	t.Helper()

	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if _, err := f.WriteAt(b, offset); err != nil {
		t.Fatal(err)
	}

	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func below(t *testing.T, root string) []string {
	t.Helper()

	table, err := mount.Table()
	if err != nil {
		t.Fatal(err)
	}

	var out []string

	for _, e := range table {
		if strings.HasPrefix(e.Target, root) {
			out = append(out, e.Target)
		}
	}

	slices.Sort(out)

	return out
}

func run(t *testing.T, command ...string) {
	t.Helper()

	// Not the test's context, which is done at cleanup.
	if out, err := exec.Command(hosttest.Need(t, command[0]), command[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", command, err, out)
	}
}
