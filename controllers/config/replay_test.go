// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/cmdline"
	sysdisk "github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/test/replay"
)

// The parts of the disk.
const (
	efiAt, efiSize = 1 << 20, 300 << 20
	metaAt         = efiAt + efiSize
	stateAt        = metaAt + layout.MetaSize
	replayedSize   = stateAt + layout.StateSize
)

// values are those of META on a device.
type values struct{ *meta.Store }

func (v values) Get(tag meta.Tag) ([]byte, error) {
	b, _ := v.Store.Get(tag)

	return b, nil
}

// stateDir is the file system of STATE, wherever it is mounted.
type stateDir struct {
	disk

	dir string
}

func (m stateDir) at(path string) string { return filepath.Join(m.dir, filepath.Base(path)) }

func (m stateDir) ReadFile(path string) ([]byte, error) { return m.disk.ReadFile(m.at(path)) }
func (m stateDir) Remove(path string) error             { return m.disk.Remove(m.at(path)) }
func (m stateDir) Rename(from, to string) error         { return m.disk.Rename(m.at(from), m.at(to)) }
func (m stateDir) SyncDir(string) error                 { return m.disk.SyncDir(m.dir) }

func (m stateDir) WriteSynced(path string, content []byte, mode fs.FileMode) error {
	return m.disk.WriteSynced(m.at(path), content, mode)
}

// onDisk is a machine with what is on a disk, and the variables of its firmware.
type onDisk struct {
	meta *meta.Store
	fs   filesystem
	boot *loader.Installed
	// noted is called after each change of the variables; it may be nil.
	noted func()
}

// Use implements Entries.
func (m onDisk) Use(fn func(loader.Loader) error) error {
	return m.boot.Use(func(l loader.Loader) error {
		if m.noted == nil {
			return fn(l)
		}

		return fn(notedLoader{l, m.noted})
	})
}

// notedLoader is a boot loader that reports changes of the variables.
type notedLoader struct {
	loader.Loader

	noted func()
}

func (l notedLoader) SetDefault(id string) error {
	defer l.noted()

	return l.Loader.SetDefault(id)
}

func (l notedLoader) SetOnce(id string) error {
	defer l.noted()

	return l.Loader.SetOnce(id)
}

// starts returns the id of the entry that systemd-boot starts, with what it does to the variables.
func (m onDisk) starts() (id string, err error) {
	var entries []loader.Entry

	err = m.boot.Use(func(l loader.Loader) error {
		entries, err = l.Entries()

		return err
	})
	if err != nil || len(entries) == 0 {
		return "", errors.Join(err, errors.New("there is no boot entry"))
	}

	id = entries[len(entries)-1].ID

	for _, name := range []string{"LoaderEntryDefault", "LoaderEntryOneShot"} {
		b, err := m.boot.Vars.Get(loaderVariable(name))
		if err != nil {
			continue
		}

		want, err := efivar.DecodeText(b)
		if err != nil {
			return "", err
		}

		for _, e := range entries {
			if strings.EqualFold(e.ID, want) {
				id = e.ID
			}
		}
	}

	err = errors.Join(m.boot.Vars.Delete(loaderVariable("LoaderEntryOneShot")),
		m.boot.Vars.Set(loaderVariable("LoaderEntrySelected"), efivar.EncodeText(strings.ToLower(id))))

	if m.noted != nil {
		m.noted()
	}

	return id, err
}

func loaderVariable(name string) efivar.Name {
	return efivar.Name{Name: name, Vendor: uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")}
}

// power switches the machine on, and returns it with the entry that runs.
func (m onDisk) power(ctx context.Context, t *testing.T) (*entryBench, string) {
	t.Helper()

	id, err := m.starts()
	if err != nil {
		t.Fatal(err)
	}

	return m.run(ctx, t), id
}

// run starts the system.
func (m onDisk) run(ctx context.Context, t *testing.T) *entryBench {
	t.Helper()

	b := &entryBench{bench: &bench{st: memory.New()}}
	b.Controller = New(fstest.MapFS{}, cmdline.Parse(""), platform.Platform{}, nil, values{m.meta}, func(error) {})
	b.Controller.fs, b.Entries = m.fs, m
	b.Reboot = func(_ context.Context, why string) { b.restarts = append(b.restarts, why) }

	rt := cosiruntime.New(b.st, slog.New(slog.DiscardHandler))
	for _, c := range Controllers(b.Controller) {
		if err := rt.RegisterController(c); err != nil {
			t.Fatal(err)
		}
	}

	go rt.Run(ctx)

	synctest.Wait()
	b.mount(t)

	return b
}

// replayed is the recording of a machine's disk, in steps.
type replayed struct {
	recorder *replay.Recorder
	flush    *os.File
	machine  onDisk
	steps    []replayedStep
	vars     []replayedVars
}

// replayedVars are the firmware's variables from a number of entries of the log on. What was written to the disk before is flushed.
type replayedVars struct {
	from int
	vars map[string]string
}

// varsOf returns what the variables may be after a cut.
func (r *replayed) varsOf(s *replay.State) (out []map[string]string) {
	for _, v := range r.vars {
		switch {
		case v.from > s.Entry:
		case v.from == s.Entry && s.Kept == 0:
			out = append(out, v.vars)
		default:
			out = []map[string]string{v.vars}
		}
	}

	return out
}

// replayedStep is what was done between two numbers of entries of the log.
type replayedStep struct {
	name     string
	from, to int
	// configs are those that a cut may leave in effect, and versions those that may run in the end.
	configs, versions []string
}

func firmwareOf(t *testing.T, d efivar.Dir) map[string]string {
	t.Helper()

	list, err := os.ReadDir(string(d))
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]string{}

	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(string(d), e.Name()))
		if err != nil {
			t.Fatal(err)
		}

		out[e.Name()] = string(b)
	}

	return out
}

// step does something, and notes it.
func (r *replayed) step(t *testing.T, name string, configs, versions []string, do func() error) {
	t.Helper()

	s := replayedStep{name: name, from: r.recorder.Entries(), configs: configs, versions: versions}

	if err := errors.Join(do(), r.flush.Sync()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}

	s.to = r.recorder.Entries()
	r.steps = append(r.steps, s)
}

// uki returns the image of a version.
func uki(version string) []byte {
	var key [32]byte

	copy(key[:], version)

	b := make([]byte, 700_000)
	rand.NewChaCha8(key).Read(b)

	return b
}

// newReplayed returns a machine that runs v1, with STATE and META on block devices whose writes are recorded.
func newReplayed(t *testing.T) *replayed {
	t.Helper()

	// Mounts of this test are no one else's.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}

	mkfs := hosttest.Need(t, "mkfs.xfs")
	r := &replayed{recorder: replay.Record(t, replayedSize)}

	efi, _ := r.recorder.Device(efiAt, efiSize)
	r.machine.boot = &loader.Installed{Vars: efivar.Dir(t.TempDir()), Open: func() (loader.Partition, int64, error) {
		f, err := sysdisk.OpenUnused(efi)
		if err != nil {
			return nil, 0, err
		}

		return f, int64(f.Size), nil
	}}

	r.makeEFI(t)

	path, _ := r.recorder.Device(metaAt, layout.MetaSize)

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { f.Close() })

	r.flush = f
	if r.machine.meta, err = meta.Open(f); err != nil {
		t.Fatal(err)
	}

	path, _ = r.recorder.Device(stateAt, layout.StateSize)

	// As the volume manager does.
	if out, err := exec.Command(mkfs, "-q", "-f", "-K", "--unsupported", "-L", layout.PartitionState, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	dir := t.TempDir()
	if err := unix.Mount(path, dir, "xfs", unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_NOSUID, ""); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})

	r.machine.fs = stateDir{dir: dir}
	r.machine.noted = func() {
		r.vars = append(r.vars, replayedVars{r.recorder.Entries(), firmwareOf(t, r.machine.boot.Vars)})
	}
	r.machine.noted()

	return r
}

// makeEFI makes the EFI partition with v1.
func (r *replayed) makeEFI(t *testing.T) {
	t.Helper()

	p, size, err := r.machine.boot.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	id := loader.NewID("v1.0.0")
	files := loader.EFIFiles(replay.Bytes([]byte("systemd-boot")), replay.Bytes(uki("v1.0.0")), id)

	if err := replay.MakeEFI(t.Context(), p, size, files); err != nil {
		t.Fatal(err)
	}

	if err := loader.StartFresh(r.machine.boot.Vars, id); err != nil {
		t.Fatal(err)
	}
}
