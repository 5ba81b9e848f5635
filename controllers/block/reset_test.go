// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/mount"
)

// resumes is a Resumer that returns what the test sends.
type resumes struct {
	asked  chan string
	answer chan error
	wiped  []string
}

func (r *resumes) Resume(_ context.Context, system, meta string, _ *slog.Logger) ([]string, error) {
	r.asked <- system + " " + meta

	return r.wiped, <-r.answer
}

// TestResumeFirst: a reset that was cut off ends before any volume is used, and before META is read. A partition that it wiped is used when it
// was discovered again.
func TestResumeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			ctx, cancel = context.WithCancel(t.Context())
			st          = memory.New()
			r           = &resumes{asked: make(chan string), answer: make(chan error), wiped: []string{"/dev/vda2"}}
			rt          = runtime.New(st, slog.New(slog.DiscardHandler))
			done        = make(chan error, 1)
		)

		defer func() {
			cancel()

			if err := <-done; err != nil {
				t.Error(err)
			}
		}()

		if err := rt.RegisterController(VolumeManagerController(slowFormat{formatted: true}, r, "")); err != nil {
			t.Fatal(err)
		}

		set := func(err error) {
			t.Helper()

			if err != nil {
				t.Fatal(err)
			}
		}

		discover := func(state string) {
			for _, v := range testDisk(10*gib, part("STATE", 100*mib, state)) {
				set(typed.Set(ctx, st, "", v.DevPath, v))
			}
		}

		phases := func(want string) {
			t.Helper()
			synctest.Wait()

			var got []string

			for _, id := range []string{"META", "STATE"} {
				s, err := typed.Find[block.VolumeStatusSpec](ctx, st, "", id)
				set(err)

				if s == nil {
					got = append(got, "none")
				} else {
					got = append(got, s.TypedSpec().Phase.String())
				}
			}

			if got := strings.Join(got, " "); got != want {
				t.Errorf("got the phases %s, want %s", got, want)
			}
		}

		set(StartVolumes(ctx, st))

		for _, id := range []string{"META", "STATE"} {
			set(typed.Set(ctx, st, "", id, systemVolumes()[id]))
		}

		go func() { done <- rt.Run(ctx) }()

		phases("waiting waiting")

		// STATE is discovered before META.
		set(typed.Set(ctx, st, "", block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda", DevPath: "/dev/vda"}))
		phases("waiting waiting")
		discover("xfs")

		if got := <-r.asked; got != "/dev/vda /dev/vda1" {
			t.Errorf("META is looked for on %q", got)
		}

		phases("waiting waiting")

		r.answer <- errors.New("wipe STATE: input/output error")

		<-r.asked // it is tried again
		phases("failed failed")

		r.answer <- nil

		// STATE was XFS until it was wiped.
		phases("failed failed")
		discover("")
		phases("ready located")
	})
}

// TestResumeUnread: a machine runs without a META that can be read, and does not without one that may have to be wiped.
func TestResumeUnread(t *testing.T) {
	v := func() *view {
		return &view{configs: folderVolumes(), folders: map[string]bool{layout.StateDir: true}}
	}

	for _, tt := range []struct {
		err  error
		want bool
	}{{fmt.Errorf("%w: EIO", errUnread), true}, {errors.New("wipe STATE: EIO"), false}} {
		m := &volumes{resumer: failing{tt.err}, stale: map[string]bool{}}

		for range resumeAttempts {
			if m.resumed {
				t.Errorf("%v: it has given up too early", tt.err)
			}

			m.resume(t.Context(), v(), slog.New(slog.DiscardHandler))
		}

		if m.resumed != tt.want {
			t.Errorf("%v: volumes are used: %t, want %t", tt.err, m.resumed, tt.want)
		}
	}

	// While the machine goes down, and without a folder, nothing is looked for.
	closing := v()
	closing.closing = true

	for _, v := range []*view{closing, {configs: folderVolumes()}} {
		m := &volumes{resumer: failing{errors.New("asked")}}
		if m.resume(t.Context(), v, slog.New(slog.DiscardHandler)); v.blocked != nil || v.waits {
			t.Errorf("got %v, waits %t", v.blocked, v.waits)
		}
	}
}

type failing struct{ err error }

func (f failing) Resume(context.Context, string, string, *slog.Logger) ([]string, error) {
	return nil, f.err
}

// TestResumeFolders goes on with the reset of a machine in a container.
func TestResumeFolders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		record reset.Record
		// left is what the folders have afterwards.
		left string
		end  string
	}{
		{"STATE and EPHEMERAL", reset.Record{Partitions: []string{"STATE", "EPHEMERAL"}, Reboot: true}, "META, user", ""},
		{"EPHEMERAL, then off", reset.Record{Partitions: []string{"EPHEMERAL"}}, "META, administrators, config.yaml, user", "off"},
		{"everything", reset.Record{Partitions: FolderLabels(), Reboot: true}, "META", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			state, ephemeral := filepath.Join(root, layout.StateDir), filepath.Join(root, layout.VarDir)
			path := filepath.Join(state, "META")

			for _, dir := range []string{state, filepath.Join(ephemeral, "lib/etcd/member")} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}

			for _, file := range []string{filepath.Join(state, "config.yaml"), filepath.Join(ephemeral, "lib/etcd/member/db")} {
				if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			values := func() *meta.Store {
				t.Helper()

				f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
				if err != nil {
					t.Fatal(err)
				}

				t.Cleanup(func() { f.Close() })

				if err := f.Truncate(layout.MetaSize); err != nil {
					t.Fatal(err)
				}

				store, err := meta.Open(f)
				if err != nil {
					t.Fatal(err)
				}

				return store
			}

			text, err := tt.record.Encode()
			if err != nil {
				t.Fatal(err)
			}

			before := values()
			for tag, value := range map[meta.Tag][]byte{meta.Administrators: []byte("CA"), meta.UserReserved1: []byte("user"), meta.Reset: text} {
				if err := before.Set(tag, value); err != nil {
					t.Fatal(err)
				}
			}

			end := ""
			r := &ResetAtBoot{
				World: func(system string, values reset.Meta, wiped func(string)) reset.World {
					w, _ := ResetWorld(false, "", 0)(system, values, wiped).(*ResetFolders)
					w.Root = root

					return w
				},
				End: func(reboot bool) error {
					end = map[bool]string{true: "reboot", false: "off"}[reboot]

					return nil
				},
			}

			// The second time there is nothing to do.
			for range 2 {
				if _, err := r.Resume(t.Context(), "", path, slog.New(slog.DiscardHandler)); err != nil {
					t.Fatal(err)
				}
			}

			var left []string

			for _, dir := range []string{state, ephemeral} {
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}

				for _, e := range entries {
					left = append(left, e.Name())
				}
			}

			for tag, name := range map[meta.Tag]string{meta.Administrators: "administrators", meta.UserReserved1: "user", meta.Reset: "record"} {
				if _, there := values().Get(tag); there {
					left = append(left, name)
				}
			}

			slices.Sort(left)

			if got := strings.Join(left, ", "); got != tt.left || end != tt.end {
				t.Errorf("got %s left, and then %q; want %s, and %q", got, end, tt.left, tt.end)
			}
		})
	}
}

// TestResumeNothing: no META file, an empty one, a damaged one, and a record that cannot be read wipe nothing.
func TestResumeNothing(t *testing.T) {
	r := &ResetAtBoot{World: func(string, reset.Meta, func(string)) reset.World {
		t.Error("something is wiped")

		return nil
	}}

	path := filepath.Join(t.TempDir(), "META")
	resume := func(what string) {
		t.Helper()

		if _, err := r.Resume(t.Context(), "", path, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}

	resume("none")

	write := func(b []byte) {
		t.Helper()

		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write(make([]byte, layout.MetaSize))
	resume("an empty one")
	write([]byte(strings.Repeat("damaged.", layout.MetaSize/8)))
	resume("a damaged one")

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	write(make([]byte, layout.MetaSize))

	store, err := meta.Open(f)
	if err != nil {
		t.Fatal(err)
	}

	if err := store.Set(meta.Reset, []byte(`{"format":2,"partitions":["STATE"]}`)); err != nil {
		t.Fatal(err)
	}

	resume("a record of another version")

	if store, err = meta.Open(f); err != nil {
		t.Fatal(err)
	}

	if _, there := store.Get(meta.Reset); there {
		t.Error("a record that cannot be read stays")
	}

	write(nil)

	if _, err := r.Resume(t.Context(), "", path, slog.New(slog.DiscardHandler)); !errors.Is(err, errUnread) {
		t.Errorf("a short one: got %v, want %v", err, errUnread)
	}
}

// TestDiskThatIsNotThere: the machine waits for a disk of users for a while.
func TestDiskThatIsNotThere(t *testing.T) {
	sys := t.TempDir()
	if err := os.MkdirAll(filepath.Join(sys, "class/block"), 0o755); err != nil {
		t.Fatal(err)
	}

	synctest.Test(t, func(t *testing.T) {
		start := time.Now()

		err := (&ResetDisks{Sys: sys, Patience: userDiskPatience}).Disk(t.Context(), reset.Disk{Path: "/dev/vdb", Size: 1})
		if took := time.Since(start); !errors.Is(err, reset.ErrMissing) || took != userDiskPatience {
			t.Errorf("got %v after %s, want %v after %s", err, took, reset.ErrMissing, userDiskPatience)
		}
	})
}

// TestMountsBelow: only what is mounted in a folder is unmounted, not what shares a file system with it.
func TestMountsBelow(t *testing.T) {
	var table []mount.Entry
	for _, target := range []string{"/", "/sys/fs/cgroup/cpu", "/system/state", "/system/state/a", "/system/state/a/b", "/system/state2", "/var"} {
		table = append(table, mount.Entry{Target: target})
	}

	if got, want := mountsBelow(table, layout.StateDir), []string{"/system/state/a/b", "/system/state/a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	if got := mountsBelow(table, layout.VarDir); len(got) > 0 {
		t.Errorf("got %v, want none", got)
	}
}
