// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

const startedFrom = "00000000-0000-0000-0000-0000000000ab"

func metaOn(disk string) block.DiscoveredVolumeSpec {
	return block.DiscoveredVolumeSpec{Parent: disk, PartitionLabel: "META", Size: mib}
}

func efiOn(disk, id string) block.DiscoveredVolumeSpec {
	return block.DiscoveredVolumeSpec{Parent: disk, PartitionLabel: "EFI", PartitionUUID: id}
}

func TestSystemDisk(t *testing.T) {
	const (
		own   = "00000000-0000-0000-0000-0000000000AB"
		other = "00000000-0000-0000-0000-0000000000AA"
	)

	for _, test := range []struct {
		name, current, booted, want string

		inUse, unsettled bool

		found []block.DiscoveredVolumeSpec
		err   bool
	}{
		{name: "none"},
		{name: "another size", found: []block.DiscoveredVolumeSpec{{Parent: "vda", PartitionLabel: "META", Size: 2 * mib}}},
		{name: "one", found: []block.DiscoveredVolumeSpec{metaOn("vda"), efiOn("vdb", "")}, want: "vda"},
		{name: "one, at once", unsettled: true, found: []block.DiscoveredVolumeSpec{metaOn("vda")}, want: "vda"},
		{name: "two", found: []block.DiscoveredVolumeSpec{metaOn("vdb"), metaOn("vda")}, err: true},
		{
			name: "two, of which one was started", booted: startedFrom, unsettled: true, want: "vdb",
			found: []block.DiscoveredVolumeSpec{metaOn("vda"), metaOn("vdb"), efiOn("vda", other), efiOn("vdb", own)},
		},
		{
			name: "copies", booted: startedFrom, err: true,
			found: []block.DiscoveredVolumeSpec{metaOn("vda"), metaOn("vdb"), efiOn("vda", own), efiOn("vdb", own)},
		},
		{
			name: "a copy of the current one turns up", current: "vda", booted: startedFrom, want: "vda",
			found: []block.DiscoveredVolumeSpec{metaOn("vda"), metaOn("vdb"), efiOn("vda", own), efiOn("vdb", own)},
		},
		{
			name: "a medium was started", booted: startedFrom, err: true,
			found: []block.DiscoveredVolumeSpec{metaOn("vda"), metaOn("vdb"), efiOn("sr0", own)},
		},
		{name: "a second turns up", current: "vdb", found: []block.DiscoveredVolumeSpec{metaOn("vda"), metaOn("vdb")}, want: "vdb"},
		{name: "the current one is missing", current: "vdb", found: []block.DiscoveredVolumeSpec{metaOn("vda")}, want: "vda"},
		{name: "another is seen before the one that was started", booted: startedFrom, unsettled: true, found: []block.DiscoveredVolumeSpec{metaOn("vda")}, err: true},
		{
			name: "META of the one that was started is not seen yet", booted: startedFrom, unsettled: true, err: true,
			found: []block.DiscoveredVolumeSpec{metaOn("vda"), efiOn("vdb", own)},
		},
		{name: "what was started did not appear", booted: startedFrom, found: []block.DiscoveredVolumeSpec{metaOn("vda")}, want: "vda"},
		{name: "a disk is not awaited without another", booted: startedFrom, unsettled: true},
		{
			name: "what was started appears late", current: "vda", booted: startedFrom, want: "vdb",
			found: []block.DiscoveredVolumeSpec{metaOn("vda"), metaOn("vdb"), efiOn("vdb", own)},
		},
		{
			name: "what was started appears when another disk's volumes are mounted", current: "vda", booted: startedFrom, inUse: true, want: "vda", err: true,
			found: []block.DiscoveredVolumeSpec{metaOn("vda"), metaOn("vdb"), efiOn("vdb", own)},
		},
	} {
		got, err := systemDisk(diskSearch{test.current, test.booted, test.inUse, !test.unsettled, test.found})
		if (err != nil) != test.err || (got != nil) != (test.want != "") || got != nil && got.DiskID != test.want {
			t.Errorf("%s: got %v, %v, want %q", test.name, got, err, test.want)
		}
	}
}

// searchBench is a running SystemDiskController, with the VolumeManagerController behind it.
type searchBench struct {
	*testing.T
	st state.State
}

func (b *searchBench) ok(err error) {
	b.Helper()

	if err != nil {
		b.Fatal(err)
	}
}

// found publishes a partition.
func (b *searchBench) found(id string, v block.DiscoveredVolumeSpec) {
	b.Helper()
	b.ok(typed.Set(b.Context(), b.st, "", id, v))
	synctest.Wait()
}

func (b *searchBench) handled() {
	b.Helper()
	b.ok(typed.Set(b.Context(), b.st, "", runtime.DevicesStatusID, runtime.DevicesStatusSpec{Ready: true}))
	synctest.Wait()
}

// want checks the system disk, or that there is none, and the phase of STATE.
func (b *searchBench) want(when, disk string, phase block.VolumePhase) {
	b.Helper()
	synctest.Wait()

	r, err := typed.Find[block.SystemDiskSpec](b.Context(), b.st, "", block.SystemDiskID)
	b.ok(err)

	got := ""
	if r != nil {
		got = r.TypedSpec().DiskID
	}

	s, err := typed.Get[block.VolumeStatusSpec](b.Context(), b.st, "", block.VolumeState)
	b.ok(err)

	if got != disk || s.TypedSpec().Phase != phase {
		b.Errorf("%s: got disk %q, STATE %s (%s), want %q, %s", when, got, s.TypedSpec().Phase, s.TypedSpec().ErrorMessage, disk, phase)
	}
}

func searching(t *testing.T, booted string, fn func(b *searchBench)) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		b := &searchBench{t, memory.New()}
		rt := cosiruntime.New(b.st, slog.New(slog.DiscardHandler))

		b.ok(rt.RegisterController(SystemDiskController(booted)))
		b.ok(rt.RegisterController(VolumeManagerController(slowFormat{}, nil, booted)))
		b.ok(StartVolumes(t.Context(), b.st))
		b.ok(typed.Set(t.Context(), b.st, "", block.VolumeState, systemVolumes()[block.VolumeState]))

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)

		go func() { done <- rt.Run(ctx) }()

		fn(b)
		cancel()
		b.ok(<-done)
	})
}

// TestForeignDiskFirst: other machines' disks are discovered before the one that the machine was started from.
func TestForeignDiskFirst(t *testing.T) {
	for name, foreign := range map[string][]string{"one": {"vda"}, "two": {"vda", "vdc"}} {
		t.Run(name, func(t *testing.T) {
			searching(t, startedFrom, func(b *searchBench) {
				for _, disk := range foreign {
					b.found(disk+"2", metaOn(disk))
				}

				b.want("the other disk", "", block.VolumePhaseWaiting)

				b.handled()
				time.Sleep(bootedPatience - time.Second)
				b.want("udevd has handled all devices", "", block.VolumePhaseWaiting)

				b.found("vdb1", efiOn("vdb", startedFrom))
				b.want("a part of the own disk", "", block.VolumePhaseWaiting)

				b.found("vdb2", metaOn("vdb"))
				b.want("the own disk", "vdb", block.VolumePhaseFailed) // this one has no table

				time.Sleep(2 * devicesPatience)
				b.want("later", "vdb", block.VolumePhaseFailed)
			})
		})
	}
}

// TestOwnDiskAtOnce: nothing waits for a disk that is there, or on a machine that was started from no known partition.
func TestOwnDiskAtOnce(t *testing.T) {
	searching(t, startedFrom, func(b *searchBench) {
		b.found("vdb1", efiOn("vdb", startedFrom))
		b.found("vdb2", metaOn("vdb"))
		b.want("the own disk", "vdb", block.VolumePhaseFailed)
	})

	searching(t, "", func(b *searchBench) {
		b.found("vdb2", metaOn("vdb"))
		b.want("the only disk", "vdb", block.VolumePhaseFailed)
	})
}

// TestStartedFromMedium: the partition that the machine was started from has no META beside it, or never appears.
func TestStartedFromMedium(t *testing.T) {
	for _, tt := range []struct {
		name         string
		medium, udev bool
		disks        []string
		after        time.Duration
		want         string
	}{
		{"network", false, true, []string{"vda"}, bootedPatience, "vda"},
		{"network, and two disks", false, true, []string{"vda", "vdb"}, bootedPatience, ""},
		{"medium", true, true, []string{"vda"}, bootedPatience, "vda"},
		{"udevd does not answer", true, false, []string{"vda"}, devicesPatience, "vda"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			searching(t, startedFrom, func(b *searchBench) {
				if tt.udev {
					b.handled()
				}

				if tt.medium {
					b.found("sr0p1", efiOn("sr0", startedFrom))
				}

				for _, disk := range tt.disks {
					b.found(disk+"2", metaOn(disk))
				}

				time.Sleep(tt.after - time.Second)
				b.want("before the devices have settled", "", block.VolumePhaseWaiting)
				time.Sleep(time.Second)
				b.want("after that", tt.want, block.VolumePhaseFailed)
			})
		})
	}
}
