// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

const (
	// bootedPatience is how long the disk that the machine was started from may take to appear after udevd has handled all devices. It is
	// shorter than the time after which a machine without a system disk takes a first configuration from everyone (controllers/config).
	bootedPatience = 10 * time.Second
	// devicesPatience limits the wait where udevd does not answer.
	devicesPatience = time.Minute
)

// SystemDiskController publishes which disk has META. booted is the identifier of the partition that the machine was started from, or empty.
// A disk with META but without that partition may be another machine's: it is chosen only when the devices have settled.
func SystemDiskController(booted string) controller.Controller {
	s := &systemDisks{settling: settling{booted: booted}}

	return &controller.Reconciler{
		ControllerName: "block.SystemDiskController",
		Reads: []controller.Input{
			controller.In[block.DiscoveredVolumeSpec](controller.Weak, ""),
			controller.In[block.MountStatusSpec](controller.Weak, ""),
			controller.In[runtime.DevicesStatusSpec](controller.Weak, "", runtime.DevicesStatusID),
		},
		Writes:    []controller.Output{controller.Out[block.SystemDiskSpec](controller.Exclusive)},
		Cleanup:   []resource.Kind{resource.KindOf[block.SystemDiskSpec]("")},
		Reconcile: s.reconcile,
	}
}

type systemDisks struct {
	settling

	// reported is the error that was logged last.
	reported string
}

func (s *systemDisks) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	found, err := typed.List[block.DiscoveredVolumeSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	mounts, err := typed.List[block.MountStatusSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	var current block.SystemDiskSpec
	if f := typed.Read(ctx, rt, block.SystemDiskID, &current); f.Err != nil {
		return f.Err
	}

	settled, err := s.settled(ctx, rt)
	if err != nil {
		return err
	}

	chosen, err := systemDisk(diskSearch{
		current: current.DiskID, booted: s.booted, inUse: len(mounts) > 0, settled: settled, found: specsOf(found),
	})
	s.report(err, log)

	if chosen == nil {
		return nil
	}

	return typed.Set(ctx, rt, "", block.SystemDiskID, *chosen)
}

// report logs an error once.
func (s *systemDisks) report(err error, log *slog.Logger) {
	text := ""
	if err != nil {
		text = err.Error()
	}

	switch {
	case text == s.reported:
	case errors.Is(err, errAwaited):
		log.Info("the system disk is not chosen yet", "reason", err)
	case err != nil:
		log.Error("the system disk cannot be chosen", "error", err)
	}

	s.reported = text
}

// settling tells when the disk that the machine was started from has had its time to appear. The zero settling of a machine that was started
// from no known partition awaits no disk.
type settling struct {
	booted string
	// began is the time of the first question, and handled when udevd had handled all devices.
	began, handled time.Time
}

// settled reports whether no other disk is awaited. The controller, which reads DevicesStatus, runs again when that changes.
func (s *settling) settled(ctx context.Context, rt controller.Runtime) (bool, error) {
	devices := typed.Read(ctx, rt, runtime.DevicesStatusID, &runtime.DevicesStatusSpec{})
	if devices.Err != nil || s.booted == "" {
		return s.booted == "", devices.Err
	}

	now := time.Now()

	if s.began.IsZero() {
		s.began = now
		time.AfterFunc(devicesPatience, rt.QueueReconcile)
	}

	if s.handled.IsZero() && devices.OK {
		s.handled = now
		time.AfterFunc(bootedPatience, rt.QueueReconcile)
	}

	return !s.handled.IsZero() && now.Sub(s.handled) >= bootedPatience || now.Sub(s.began) >= devicesPatience, nil
}

func specsOf[S resource.Spec](resources []*resource.Typed[S]) []S {
	out := make([]S, 0, len(resources))
	for _, r := range resources {
		out = append(out, *r.TypedSpec())
	}

	return out
}

// diskSearch has what the choice of the system disk depends on.
type diskSearch struct {
	// current is the disk that was chosen before, and booted the identifier of the partition that the machine was started from, or empty.
	current, booted string
	// inUse is set while volumes are mounted, and settled when no other disk is awaited.
	inUse, settled bool
	found          []block.DiscoveredVolumeSpec
}

// errAwaited is the error of a search that waits for the disk that the machine was started from.
var errAwaited = errors.New("the disk that the machine was started from did not appear yet")

// systemDisk finds the disk with META. The disk that the machine was started from, such as by UEFI, wins, and is awaited until the devices
// have settled. Without it, the current disk is kept even if another appears. Two are an error if the machine was started from neither or, of
// copies, from both. The disk is not changed under mounted volumes: it is then returned with an error.
func systemDisk(s diskSearch) (*block.SystemDiskSpec, error) {
	var disks, started []string

	for _, v := range s.found {
		if s.booted != "" && strings.EqualFold(v.PartitionUUID, s.booted) {
			started = append(started, v.Parent)
		}

		if v.PartitionLabel == block.VolumeMeta && v.Size == layout.MetaSize && !slices.Contains(disks, v.Parent) {
			disks = append(disks, v.Parent)
		}
	}

	slices.Sort(disks)

	var (
		own  = len(started) == 1 && slices.Contains(disks, started[0])
		kept = slices.Contains(disks, s.current)
		err  error
	)

	switch {
	case kept && own && s.inUse && started[0] != s.current:
		err = fmt.Errorf("the machine was started from disk %s, but volumes of disk %s, which appeared before, are mounted: remove that disk and restart the machine",
			started[0], s.current)
		disks = []string{s.current}
	case own:
		disks = started
	case kept:
		disks = []string{s.current}
	case len(disks) == 0:
		return nil, nil // no system disk is an answer
	case s.booted != "" && !s.settled:
		return nil, errAwaited
	case len(disks) > 1:
		return nil, fmt.Errorf("disks %s each have a META partition: remove or wipe all but one", strings.Join(disks, " and "))
	}

	return &block.SystemDiskSpec{DiskID: disks[0], DevPath: "/dev/" + disks[0]}, err
}
