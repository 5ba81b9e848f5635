// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	runtimectl "github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/sys/platform"
)

const mountID = "boot-logs-" + block.VolumeEphemeral

// boot starts a machine with the disk, whose drivers are loaded when settled is closed.
func boot(t *testing.T, id, disk, root string, settled <-chan struct{}) (*controllertest.Node, *bootlog.Journal) {
	t.Helper()

	journal := bootlog.New(bootlog.DefaultLimits)
	journal.Append("machined", []byte("starting "+id))

	t.Cleanup(func() { journal.Close() }) // after the controller has stopped, which would open it again

	n := controllertest.Start(t, runtimectl.BootLogController(journal, platform.Platform{}, root, settled))

	controllertest.Set(n, runtime.BootIDID, runtime.BootIDSpec{BootID: id})
	controllertest.Wait[block.VolumeMountRequestSpec](n, mountID, nil)
	controllertest.Set(n, mountID, block.VolumeMountStatusSpec{Target: disk})

	return n, journal
}

// TestBootLogs has boots that end with a reboot, a panic and a power cut.
func TestBootLogs(t *testing.T) {
	disk, root := t.TempDir(), t.TempDir()

	settled := make(chan struct{})
	close(settled)

	first, _ := boot(t, "one", disk, root, settled)
	controllertest.Wait(first, "00000001", func(b runtime.BootSpec) bool { return b.Boot == 0 && b.BootID == "one" && b.Start != "" && b.End == "" })
	controllertest.Set(first, runtime.PowerRequestID, runtime.PowerRequestSpec{
		Action: runtime.PowerReboot, Reason: "reboot over the API (os:admin)", ActorID: "x", Force: true,
	})
	controllertest.Wait(first, "00000001", func(b runtime.BootSpec) bool { return b.End != "" })
	unmount(t, first)

	second, _ := boot(t, "two", disk, root, settled)
	controllertest.Wait(second, "00000001", func(b runtime.BootSpec) bool {
		return b.Boot == -1 && b.Reason == "reboot over the API (os:admin), forced, actor x"
	})
	controllertest.Wait(second, "00000002", func(b runtime.BootSpec) bool { return b.Boot == 0 && b.BootID == "two" })

	pstore := filepath.Join(root, "sys/fs/pstore")
	if err := os.MkdirAll(pstore, 0o755); err != nil {
		t.Fatal(err)
	}

	// The driver of the firmware's memory is loaded after the disk is mounted.
	drivers := make(chan struct{})
	third, _ := boot(t, "three", disk, root, drivers)

	if err := os.WriteFile(filepath.Join(pstore, "dmesg-efi-1"), []byte("Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: died\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	close(drivers)
	controllertest.Wait(third, "00000002", func(b runtime.BootSpec) bool { return b.Boot == -1 && b.Reason == "kernel panic: died" })
	controllertest.Wait(third, "00000001", func(b runtime.BootSpec) bool { return b.Boot == -2 })

	fourth, journal := boot(t, "four", disk, root, settled)
	controllertest.Wait(fourth, "00000003", func(b runtime.BootSpec) bool { return b.Boot == -1 && b.Reason == bootlog.Unexplained })

	var text strings.Builder

	err := journal.Read(t.Context(), -3, "machined", -1, func(p []byte) error {
		text.Write(p)

		return nil
	})
	if err != nil || text.String() != "starting one\n" {
		t.Errorf("the log of the first boot: got %q, %v", text.String(), err)
	}
}

// TestBootEndsBeforeDrivers: a machine that goes down before all drivers are loaded records the reason, and releases the disk.
func TestBootEndsBeforeDrivers(t *testing.T) {
	disk := t.TempDir()

	first, _ := boot(t, "one", disk, t.TempDir(), nil)
	controllertest.Wait(first, "00000001", func(b runtime.BootSpec) bool { return b.Boot == 0 })

	second, journal := boot(t, "two", disk, t.TempDir(), nil) // drivers that never come
	controllertest.Wait(second, "00000002", func(b runtime.BootSpec) bool { return b.Boot == 0 })

	start := time.Now()

	controllertest.Set(second, runtime.PowerRequestID, runtime.PowerRequestSpec{Action: runtime.PowerReboot, Reason: "reboot"})
	controllertest.Wait(second, "00000002", func(b runtime.BootSpec) bool { return b.Reason == "reboot" })

	if _, err := journal.Boots(); err != nil {
		t.Error(err)
	}

	unmount(t, second)

	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

// unmount tears down the grant, as when the machine goes down.
func unmount(t *testing.T, n *controllertest.Node) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	ptr := resource.PointerOf[block.VolumeMountStatusSpec]("", mountID)
	if _, err := n.Teardown(ctx, ptr); err != nil {
		t.Fatal(err)
	}

	if _, err := n.WatchFor(ctx, ptr, state.FinalizersEmpty()); err != nil {
		t.Fatalf("the volume is still held: %v", err)
	}
}
