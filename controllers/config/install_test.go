// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// installer is a programmable installer.
type installer struct {
	// refusal is the error of Check, and ends has those of installations.
	refusal error
	ends    chan error
	begun   []string
}

func (i *installer) Check(_ context.Context, cfg *view.Config) (string, error) {
	if cfg.Install() == nil {
		return "", errors.New("no disk is named")
	}

	return "installs v1 to " + cfg.Install().Disk, i.refusal
}

func (i *installer) Install(ctx context.Context, cfg *view.Config, _ func(string)) error {
	i.begun = append(i.begun, cfg.Install().Disk)

	select {
	case err := <-i.ends:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withoutDisk starts a machine that is on no disk, whose devices are there.
func withoutDisk(ctx context.Context, t *testing.T, args string) (*bench, *installer, *[]string) {
	t.Helper()

	b := startBare(ctx, t, nil, args)
	i, reboots := &installer{ends: make(chan error)}, &[]string{}
	b.Installer, b.Reboot = i, func(_ context.Context, why string) { *reboots = append(*reboots, why) }

	b.phase(t, block.VolumePhaseWaiting)

	if err := typed.Set(t.Context(), b.st, "", runtime.DevicesStatusID, runtime.DevicesStatusSpec{Ready: true}); err != nil {
		t.Fatal(err)
	}

	synctest.Wait()

	return b, i, reboots
}

func (b *bench) installation(t *testing.T) string {
	t.Helper()
	synctest.Wait()

	r, err := typed.Find[runtime.UnattendedInstallStatusSpec](t.Context(), b.st, "", runtime.UnattendedInstallStatusID)
	if err != nil {
		t.Fatal(err)
	}

	if r == nil {
		return ""
	}

	return r.TypedSpec().Phase.String() + " " + r.TypedSpec().Error
}

// has is a configuration that names a disk.
func has(t *testing.T, disk string) []byte {
	t.Helper()

	return []byte(strings.Replace(string(configtest.ControlPlane(t)), "disk: /dev/sda", "disk: "+disk, 1))
}

// TestWithoutDisk: a machine on no disk is open after a while, and installs what is applied.
func TestWithoutDisk(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		b, i, reboots := withoutDisk(ctx, t, "")

		if b.maintenance(t) {
			t.Error("the machine is open before its disks had time to appear")
		}

		time.Sleep(diskPatience)

		if !b.maintenance(t) {
			t.Fatal("the machine is not open")
		}

		stranger := func(text []byte, mode Mode) (Applied, error) {
			return b.Apply(ctx, Change{Text: text, Mode: mode, Anonymous: true})
		}

		i.refusal = errors.New("the disk is too small")
		if _, err := stranger(has(t, "/dev/sda"), Now); !errors.Is(err, ErrInvalid) || !errors.Is(err, i.refusal) {
			t.Errorf("got %v", err)
		}

		i.refusal = nil
		if _, err := stranger(has(t, "/dev/sda"), Try); !errors.Is(err, ErrInvalid) {
			t.Errorf("a trial: got %v", err)
		}

		if a, err := b.Apply(ctx, Change{Text: has(t, "/dev/sda"), DryRun: true}); err != nil || !strings.HasSuffix(a.Details, "The machine installs v1 to /dev/sda\n") {
			t.Errorf("a dry run: got %q, %v", a.Details, err)
		}

		if got := b.installation(t); got != "" || len(i.begun) > 0 {
			t.Fatalf("an installation began: %s", got)
		}

		a, err := stranger(has(t, "/dev/sda"), Now)
		if err != nil || !strings.HasPrefix(a.Details, "The machine installs v1 to /dev/sda, and stores the configuration there. Then it restarts") {
			t.Fatalf("got %q, %v", a.Details, err)
		}

		if got := b.installation(t); got != "installing " {
			t.Errorf("got %q", got)
		}

		if _, err := stranger(has(t, "/dev/sdb"), Now); !errors.Is(err, ErrNotReady) {
			t.Errorf("a second one: got %v", err)
		}

		i.ends <- errors.New("the disk is broken")

		if got := b.installation(t); got != "failed the disk is broken" || !b.maintenance(t) {
			t.Errorf("got %q", got)
		}

		if _, err := stranger(has(t, "/dev/sdb"), Now); err != nil {
			t.Fatal(err)
		}

		i.ends <- nil

		if got := b.installation(t); got != "waiting-for-reboot " || !slices.Equal(i.begun, []string{"/dev/sda", "/dev/sdb"}) {
			t.Errorf("got %q, %v", got, i.begun)
		}

		b.phase(t, block.VolumePhaseReady)
		b.mount(t)

		if got := b.text(t, configres.PersistentID); got != string(has(t, "/dev/sdb")) || b.text(t, configres.ActiveID) != "" || len(*reboots) != 1 {
			t.Errorf("got %d bytes, restarted %q", len(got), *reboots)
		}

		if _, err := stranger(has(t, "/dev/sdb"), Now); !errors.Is(err, ErrDenied) {
			t.Errorf("after it: got %v", err)
		}
	})
}

// TestInstallFound: a configuration that is found beside the disk is installed, and its administrators are let in.
func TestInstallFound(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		b, i, _ := withoutDisk(ctx, t, "talos.config.inline="+packed(t, string(configtest.ControlPlane(t))))

		time.Sleep(diskPatience)

		if got := b.installation(t); got != "installing " || b.maintenance(t) || b.text(t, configres.AccessID) == "" {
			t.Fatalf("got %q, open %t", got, b.maintenance(t))
		}

		i.ends <- errors.New("no network")

		if got := b.installation(t); got != "failed no network" {
			t.Errorf("got %q", got)
		}

		time.Sleep(installRetry)

		if got := b.installation(t); got != "installing " || len(i.begun) != 2 {
			t.Errorf("got %q, %v", got, i.begun)
		}
	})
}

// TestLateDisk: a disk with the system that appears late closes the machine.
func TestLateDisk(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		b, _, _ := withoutDisk(ctx, t, "")

		time.Sleep(diskPatience)

		if !b.maintenance(t) {
			t.Fatal("the machine is not open")
		}

		if err := typed.Set(t.Context(), b.st, "", block.SystemDiskID, block.SystemDiskSpec{DiskID: "sda"}); err != nil {
			t.Fatal(err)
		}

		if b.maintenance(t) {
			t.Error("the machine is open to strangers")
		}
	})
}
