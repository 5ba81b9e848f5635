// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// twoDisks is why STATE has failed.
const twoDisks = "disks vda and vdb each have a META partition"

// onTwoDisks starts a machine whose system disk cannot be chosen. Neither STATE, which has files, nor META can be read.
func onTwoDisks(ctx context.Context, t *testing.T, files map[string]string, args string) *bench {
	t.Helper()

	b := startBare(ctx, t, files, args)
	b.Installer = &installer{}

	for _, err := range []error{
		typed.Set(t.Context(), b.st, "", block.VolumeState, block.VolumeStatusSpec{Phase: block.VolumePhaseFailed, ErrorMessage: twoDisks}),
		typed.Set(t.Context(), b.st, "", runtime.DevicesStatusID, runtime.DevicesStatusSpec{Ready: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	synctest.Wait()

	return b
}

// chosen removes all disks but one.
func (b *bench) chosen(t *testing.T) {
	t.Helper()

	if err := typed.Set(t.Context(), b.st, "", block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda"}); err != nil {
		t.Fatal(err)
	}

	b.phase(t, block.VolumePhaseReady)
	b.loaded(t)
	b.mount(t)
}

// denied checks that the machine is not open to strangers.
func (b *bench) denied(t *testing.T, when string) {
	t.Helper()

	if b.maintenance(t) {
		t.Errorf("%s: the machine is open to everyone", when)
	}

	if _, err := b.Apply(t.Context(), Change{Text: configtest.Worker(t), Anonymous: true}); !errors.Is(err, ErrDenied) {
		t.Errorf("%s: a stranger applies a configuration: got %v, want %v", when, err, ErrDenied)
	}
}

// TestTwoDisks: a machine whose system disk cannot be chosen says so, and is open to no one. When one disk is left, its configuration is used.
func TestTwoDisks(t *testing.T) {
	good := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := onTwoDisks(ctx, t, map[string]string{fileName: good}, "")

		time.Sleep(diskPatience - time.Second)

		if got := b.failure(t); got != "" || b.maintenance(t) {
			t.Errorf("before the disks had time to appear: got failure %q, open %t", got, b.maintenance(t))
		}

		time.Sleep(time.Second)

		if got := b.failure(t); !strings.Contains(got, twoDisks) || len(b.failed) != 1 {
			t.Errorf("failure: got %q, %v, want the one of STATE", got, b.failed)
		}

		b.denied(t, "on two disks")
		time.Sleep(time.Hour)
		b.denied(t, "later")
		b.chosen(t)

		if got := b.text(t, configres.ActiveID); got != good || b.failure(t) != "" {
			t.Errorf("on the disk that is left: got %d bytes, failure %q, want the stored configuration", len(got), b.failure(t))
		}
	})
}

// TestBesideTwoDisks: a configuration of the kernel's arguments has effect on a machine whose system disk cannot be chosen, so that its
// administrators get in. It does not replace the one that the right disk has.
func TestBesideTwoDisks(t *testing.T) {
	good := string(configtest.ControlPlane(t))
	other := withAuthority(t, good)

	for name, files := range map[string]map[string]string{"stored": {fileName: other}, "nothing stored": {}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := onTwoDisks(ctx, t, files, "talos.config.inline="+packed(t, good))

				time.Sleep(diskPatience)

				if got := b.text(t, configres.ActiveID); got != good {
					t.Errorf("active: got %d bytes, want the configuration of the arguments", len(got))
				}

				if got := b.text(t, configres.PersistentID); got != "" {
					t.Errorf("persistent: got %d bytes, want none", len(got))
				}

				b.denied(t, "on two disks")

				if _, err := b.Apply(ctx, Change{Text: []byte(good)}); !errors.Is(err, ErrNotReady) {
					t.Errorf("the administrator applies a configuration: got %v, want %v", err, ErrNotReady)
				}

				want := good
				if files[fileName] != "" {
					want = files[fileName]
				}

				b.chosen(t)

				if got := b.text(t, configres.ActiveID); got != want || b.disk.durable[fileName] != want {
					t.Errorf("on the disk that is left: got %d bytes in effect and %d stored, want %d", len(got), len(b.disk.durable[fileName]), len(want))
				}

				b.denied(t, "on the disk that is left")
			})
		})
	}
}

// TestFailedOnChosenDisk: STATE that fails on a disk that was chosen is not such a case. META is there, and has the say.
func TestFailedOnChosenDisk(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := startBare(ctx, t, nil, "talos.config.inline="+packed(t, string(configtest.ControlPlane(t))))
		b.Installer = &installer{}

		if err := typed.Set(t.Context(), b.st, "", block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda"}); err != nil {
			t.Fatal(err)
		}

		if err := typed.Set(t.Context(), b.st, "", runtime.DevicesStatusID, runtime.DevicesStatusSpec{Ready: true}); err != nil {
			t.Fatal(err)
		}

		b.phase(t, block.VolumePhaseFailed)
		time.Sleep(diskPatience)

		if b.text(t, configres.ActiveID) != "" || b.failure(t) != "" || b.maintenance(t) {
			t.Errorf("got active %t, failure %q, open %t, want nothing yet", b.text(t, configres.ActiveID) != "", b.failure(t), b.maintenance(t))
		}
	})
}
