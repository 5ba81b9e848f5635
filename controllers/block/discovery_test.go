// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/uevent"
)

// fakeProber knows what is on each device, and records which devices it probed.
type fakeProber struct {
	mu     sync.Mutex
	on     map[string]Probed
	looked []string
}

func (f *fakeProber) Probe(path string) (Probed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.looked = append(f.looked, path)

	p, ok := f.on[path]
	if !ok {
		return p, errors.New("medium error")
	}

	return p, nil
}

// take returns the devices that were probed since the last call.
func (f *fakeProber) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()

	out := f.looked
	f.looked = nil

	slices.Sort(out)

	return out
}

// sysfs creates the entries of devices: NAME to its uevent lines.
func sysfs(t *testing.T, root string, devices map[string]string) {
	t.Helper()

	for name, lines := range devices {
		dir := filepath.Join(root, "class/block", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		for file, text := range map[string]string{"size": "8\n", "uevent": lines} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestKernelToVolumes runs DevicesController and DiscoveryController: a device that changed is probed again, with its disk, and no other
// device is.
func TestKernelToVolumes(t *testing.T) {
	const disk = "MAJOR=254\nMINOR=0\nDEVNAME=vda\n"

	sys := t.TempDir()
	sysfs(t, sys, map[string]string{"vda": disk, "vdb": "MAJOR=254\nMINOR=16\nDEVNAME=vdb\n"})

	meta := gpt.Partition{Number: 1, Label: "META", Type: gpt.TypeLinuxData, ID: uuid.New(), First: 2048, Last: 4095}
	prober := &fakeProber{on: map[string]Probed{
		"/dev/vda": {blkid.Info{Name: blkid.GPT, Table: &gpt.Table{SectorSize: 512, Partitions: []gpt.Partition{meta}}}, 10 * gib, 512, 512},
	}}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		events := make(chan uevent.Event)
		st := memory.New()
		rt := runtime.New(st, slog.New(slog.DiscardHandler))

		listen := func(ctx context.Context, started func(), handle func(uevent.Event)) error {
			started()

			for {
				select {
				case <-ctx.Done():
					return nil
				case e := <-events:
					handle(e)
				}
			}
		}

		for _, err := range []error{
			rt.RegisterController(&DevicesController{Sys: sys, Listen: listen}),
			rt.RegisterController(DiscoveryController(prober)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}

		done := make(chan error, 1)
		go func() { done <- rt.Run(ctx) }()

		send := func(action uevent.Action, subsystem, name string) {
			events <- uevent.Event{Action: action, Vars: map[string]string{"SUBSYSTEM": subsystem, "DEVNAME": name}}

			synctest.Wait()
		}

		looked := func(want ...string) {
			t.Helper()

			if got := slices.Compact(prober.take()); !slices.Equal(got, want) {
				t.Errorf("looked at %v, want %v", got, want)
			}
		}

		synctest.Wait()
		looked("/dev/vda", "/dev/vdb")

		got, err := typed.Get[block.DiscoveredVolumeSpec](ctx, st, "", "vda")
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(block.DiscoveredVolumeSpec{
			Type: "disk", DevPath: "/dev/vda", DevicePath: "/dev/vda", Size: 10 * gib, PrettySize: "11 GB", SectorSize: 512, IOSize: 512, Name: "gpt",
		}, *got.TypedSpec()); diff != "" {
			t.Errorf("disk (-want +got):\n%s", diff)
		}

		// A device that cannot be read is published as empty.
		if got, err = typed.Get[block.DiscoveredVolumeSpec](ctx, st, "", "vdb"); err != nil || got.TypedSpec().Name != "" {
			t.Errorf("unreadable disk: got %v, %v", got, err)
		}

		send(uevent.Add, "net", "eth0")
		looked()

		send(uevent.Change, "block", "vdb")
		looked("/dev/vdb")

		prober.mu.Lock()
		prober.on["/dev/vda1"] = Probed{blkid.Info{}, mib, 512, 512}
		prober.mu.Unlock()

		sysfs(t, sys, map[string]string{"vda1": "DEVNAME=vda1\nPARTN=1\n"})
		// The real entry is a link into the disk's folder, which is where the parent is read from.
		if err := errors.Join(
			os.MkdirAll(filepath.Join(sys, "vda"), 0o755),
			os.Rename(filepath.Join(sys, "class/block/vda1"), filepath.Join(sys, "vda/vda1")),
			os.Symlink(filepath.Join(sys, "vda/vda1"), filepath.Join(sys, "class/block/vda1")),
		); err != nil {
			t.Fatal(err)
		}

		send(uevent.Add, "block", "vda1")
		looked("/dev/vda", "/dev/vda1")

		got, err = typed.Get[block.DiscoveredVolumeSpec](ctx, st, "", "vda1")
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(block.DiscoveredVolumeSpec{
			Type: "partition", DevPath: "/dev/vda1", DevicePath: "/dev/vda1", Parent: "vda", ParentDevPath: "/dev/vda",
			Size: mib, PrettySize: "1.0 MB", SectorSize: 512, IOSize: 512, Offset: mib, PartitionIndex: 1,
			PartitionLabel: "META", PartitionType: gpt.TypeLinuxData.String(), PartitionUUID: meta.ID.String(),
		}, *got.TypedSpec()); diff != "" {
			t.Errorf("partition (-want +got):\n%s", diff)
		}

		events <- uevent.Event{Action: uevent.Overrun}

		synctest.Wait()
		looked("/dev/vda", "/dev/vda1", "/dev/vdb")

		if err := os.RemoveAll(filepath.Join(sys, "class/block/vdb")); err != nil {
			t.Fatal(err)
		}

		send(uevent.Remove, "block", "vdb")
		looked()

		if _, err := st.Get(ctx, resource.PointerOf[block.DiscoveredVolumeSpec]("", "vdb")); !state.IsNotFound(err) {
			t.Errorf("a removed disk: got %v, want not found", err)
		}

		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
