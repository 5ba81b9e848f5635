// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// Provisioner changes disks, and makes the kernel announce the result.
type Provisioner interface {
	// CreatePartition and GrowPartition look at the disk first, and do nothing if the work is done.
	CreatePartition(ctx context.Context, disk string, spec block.PartitionSpec) error
	GrowPartition(ctx context.Context, disk string, spec block.PartitionSpec) error
	// Formatted reports whether a device has its file system, and announces it then, or is empty. Any other content is an error.
	Formatted(device string, spec block.FilesystemSpec) (bool, error)
	// Format creates a file system, whatever is on the device.
	Format(ctx context.Context, device string, spec block.FilesystemSpec) error
}

// VolumeManagerController finds the volumes of VolumeConfigs, and creates, formats and grows them. Before that, it goes on with a reset that was
// cut off. booted is the identifier of the partition that the machine was started from, or empty.
func VolumeManagerController(provisioner Provisioner, resumer Resumer, booted string) controller.Controller {
	m := &volumes{provisioner: provisioner, resumer: resumer, settling: settling{booted: booted}, resumed: resumer == nil, stale: map[string]bool{}}

	return &controller.Reconciler{
		ControllerName: "block.VolumeManagerController",
		Reads: []controller.Input{
			controller.In[block.VolumeConfigSpec](controller.Weak, ""),
			controller.In[block.DiscoveredVolumeSpec](controller.Weak, ""),
			controller.In[block.SystemDiskSpec](controller.Weak, "", block.SystemDiskID),
			controller.In[block.VolumeLifecycleSpec](controller.Weak, "", block.VolumeLifecycleID),
			controller.In[block.MountStatusSpec](controller.Weak, ""),
			controller.In[runtime.DevicesStatusSpec](controller.Weak, "", runtime.DevicesStatusID),
		},
		Writes:    []controller.Output{controller.Out[block.VolumeStatusSpec](controller.Exclusive)},
		Reconcile: m.reconcile,
	}
}

// resumeAttempts is how often META is tried to be read.
const resumeAttempts = 5

type volumes struct {
	provisioner Provisioner
	resumer     Resumer
	settling
	// resumed is set when there is no reset to go on with. stale are partitions that it wiped, and that were not discovered again yet.
	resumed  bool
	attempts int
	stale    map[string]bool
	// failures of the last actions, by volume.
	failures map[string]error
}

func (m *volumes) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	settled, err := m.settled(ctx, rt)
	if err != nil {
		return err
	}

	v, err := readView(ctx, rt, m.booted, settled)
	if err != nil {
		return err
	}

	m.resume(ctx, &v, log)

	if v.outdated(m.stale) {
		return nil // the discovery of the wiped partitions is an event
	}

	statuses, actions := plan(v)
	failures := map[string]error{}
	actions = slices.DeleteFunc(actions, func(a action) bool { return m.formatted(a, statuses, failures) })

	// Publish before the actions: they take a while, and other controllers may only need to know that a volume is empty.
	if err := m.publish(ctx, rt, statuses, log); err != nil {
		return err
	}

	for _, a := range actions {
		if err := m.act(ctx, a, log); err != nil {
			failures[a.volume] = err
		}
	}

	m.failures = failures

	if err := m.publish(ctx, rt, statuses, log); err != nil {
		return err
	}

	return errors.Join(append(slices.Collect(maps.Values(failures)), v.blocked)...)
}

// resume goes on with a reset that was cut off, once. Until that is done, no volume may be used.
func (m *volumes) resume(ctx context.Context, v *view, log *slog.Logger) {
	if m.resumed || v.closing {
		return
	}

	system, at, waits := v.meta()

	switch {
	case waits:
		v.waits = true
	case at == "":
	default:
		wiped, err := m.resumer.Resume(ctx, system, at, log)
		if m.attempts++; errors.Is(err, errUnread) && m.attempts >= resumeAttempts {
			// A machine runs without META. A record that it finds there later is dropped (controllers/meta).
			log.Error("it is not known whether a reset was cut off", "error", err)
		} else if err != nil {
			v.blocked = err

			return
		}

		m.resumed = true

		for _, path := range wiped {
			m.stale[path] = true
		}
	}
}

// formatted reports that the device of an action must not be formatted, because it has its file system already, or is not empty, or
// cannot be read. Only a volume that is known to be empty gets the phase provisioned.
func (m *volumes) formatted(a action, statuses map[string]block.VolumeStatusSpec, failures map[string]error) bool {
	if a.step != stepFormat {
		return false
	}

	done, err := m.provisioner.Formatted(a.device, a.spec.FilesystemSpec)
	if done || err != nil {
		s := statuses[a.volume]
		s.Phase = block.VolumePhaseLocated
		statuses[a.volume] = s
	}

	if err != nil {
		failures[a.volume] = err
	}

	return done || err != nil
}

// publish writes the statuses, with the failures of the last actions.
func (m *volumes) publish(ctx context.Context, rt controller.Runtime, statuses map[string]block.VolumeStatusSpec, log *slog.Logger) error {
	rt.StartTrackingOutputs()

	for id, s := range statuses {
		if failure := m.failures[id]; failure != nil {
			fail(&s, failure)
		}

		var old block.VolumeStatusSpec
		if f := typed.Read(ctx, rt, id, &old); f.Err != nil {
			return f.Err
		} else if !f.OK || old.Phase != s.Phase || old.ErrorMessage != s.ErrorMessage {
			log.Info("volume", "id", id, "phase", s.Phase, "location", s.Location, "reason", s.ErrorMessage)
		}

		if err := typed.Set(ctx, rt, "", id, s); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[block.VolumeStatusSpec](""))
}

func readView(ctx context.Context, rt controller.Runtime, booted string, settled bool) (view, error) {
	v := view{configs: map[string]block.VolumeConfigSpec{}, inUse: map[string]bool{}}

	configs, err := typed.List[block.VolumeConfigSpec](ctx, rt, "")
	if err != nil {
		return v, err
	}

	for _, c := range configs {
		v.configs[c.Metadata().ID()] = *c.TypedSpec()
	}

	v.folders = folders(v.configs)

	found, err := typed.List[block.DiscoveredVolumeSpec](ctx, rt, "")
	if err != nil {
		return v, err
	}

	v.found = specsOf(found)

	var system block.SystemDiskSpec

	switch f := typed.Read(ctx, rt, block.SystemDiskID, &system); {
	case f.Err != nil:
		return v, f.Err
	case f.OK:
		v.system = &system
	default:
		_, v.systemErr = systemDisk(diskSearch{booted: booted, settled: settled, found: v.found})
	}

	lifecycle := typed.Read(ctx, rt, block.VolumeLifecycleID, &block.VolumeLifecycleSpec{})
	if lifecycle.Err != nil {
		return v, lifecycle.Err
	}

	// Without a lifecycle, volumes are not started yet, or stopped.
	v.closing = !lifecycle.OK

	mounts, err := typed.List[block.MountStatusSpec](ctx, rt, "")
	for _, mount := range mounts {
		v.inUse[mount.Metadata().ID()] = true
	}

	return v, err
}

func (m *volumes) act(ctx context.Context, a action, log *slog.Logger) error {
	var (
		start = time.Now()
		err   error
		what  string
	)

	switch a.step {
	case stepCreate:
		what, err = "partition made", m.provisioner.CreatePartition(ctx, a.disk, a.spec.PartitionSpec)
	case stepGrow:
		what, err = "partition grown", m.provisioner.GrowPartition(ctx, a.disk, a.spec.PartitionSpec)
	case stepFormat:
		what, err = "file system made", m.provisioner.Format(ctx, a.device, a.spec.FilesystemSpec)
	}

	if err == nil {
		log.Info(what, "volume", a.volume, "disk", a.disk, "took", time.Since(start).Round(time.Millisecond))
	}

	return err
}
