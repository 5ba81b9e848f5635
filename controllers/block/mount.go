// SPDX-License-Identifier: Apache-2.0

package block

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
)

// Mounter mounts volumes.
type Mounter interface {
	// Mount mounts a volume that is not mounted, brings its file system to the size of its device, and makes the
	// folders that belong on it.
	Mount(ctx context.Context, volume string, s block.VolumeStatusSpec, readOnly bool) error
	// Writable remounts a volume that was mounted read-only.
	Writable(target string) error
	// Unmount unmounts a volume and all that stands on it.
	Unmount(target string) error
	// Abandon makes a volume that cannot be unmounted as safe as can be: read-only, or at least flushed.
	Abandon(target string) error
}

const mountName = "block.MountController"

// Nothing tells when a busy mount becomes free, so it is tried again after busyRetry. When the machine goes down, a
// volume that stays busy for busyLimit is abandoned.
const (
	busyRetry = 200 * time.Millisecond
	busyLimit = 10 * time.Second
)

// MountController mounts a volume while somebody requests it, grants each request by a VolumeMountStatus, and
// unmounts when the last grant is gone. The teardown of the VolumeLifecycle takes back all grants.
func MountController(mounter Mounter) controller.Controller {
	m := &mounts{mounter: mounter, busy: map[string]string{}}

	return &controller.Reconciler{
		ControllerName: mountName,
		Reads: []controller.Input{
			controller.In[block.VolumeMountRequestSpec](controller.Strong, ""),
			controller.In[block.VolumeStatusSpec](controller.Strong, ""),
			controller.In[block.VolumeLifecycleSpec](controller.Strong, "", block.VolumeLifecycleID),
		},
		Writes: []controller.Output{
			controller.Out[block.MountStatusSpec](controller.Exclusive),
			controller.Out[block.VolumeMountStatusSpec](controller.Exclusive),
		},
		Reconcile: m.reconcile,
	}
}

type mounts struct {
	mounter Mounter
	// closing is since when the lifecycle is torn down.
	closing time.Time
	// busy is why a volume could not be unmounted at the last attempt.
	busy map[string]string
}

func (m *mounts) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	lifecycle, err := typed.Find[block.VolumeLifecycleSpec](ctx, rt, "", block.VolumeLifecycleID)
	if err != nil {
		return err
	}

	requests, err := typed.List[block.VolumeMountRequestSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	wanted := map[string][]*resource.Typed[block.VolumeMountRequestSpec]{}

	if lifecycle != nil && lifecycle.Metadata().Phase() == resource.PhaseRunning {
		m.closing = time.Time{}

		if err := rt.AddFinalizer(ctx, lifecycle.Metadata().Pointer(), mountName); err != nil {
			return err
		}

		for _, r := range requests {
			if r.Metadata().Phase() == resource.PhaseRunning {
				wanted[r.TypedSpec().VolumeID] = append(wanted[r.TypedSpec().VolumeID], r)
			}
		}
	} else if lifecycle != nil && m.closing.IsZero() {
		m.closing = time.Now()
	}

	rt.StartTrackingOutputs()

	failure := m.grantAll(ctx, rt, wanted, log)

	if err := rt.CleanupOutputs(ctx, resource.KindOf[block.VolumeMountStatusSpec]("")); err != nil {
		return errors.Join(failure, err)
	}

	left, err := m.unmountAll(ctx, rt, wanted, log)
	if err != nil {
		return errors.Join(failure, err)
	}

	if err := release(ctx, rt, requests); err != nil {
		return errors.Join(failure, err)
	}

	if lifecycle != nil && lifecycle.Metadata().Phase() == resource.PhaseTearingDown && left == 0 {
		return rt.RemoveFinalizer(ctx, lifecycle.Metadata().Pointer(), mountName)
	}

	return failure
}

// grantAll mounts what is wanted and ready, and grants the requests of what is mounted. A volume that fails does not
// hold up the others.
func (m *mounts) grantAll(ctx context.Context, rt controller.Runtime, wanted map[string][]*resource.Typed[block.VolumeMountRequestSpec], log *slog.Logger) error {
	statuses, err := typed.List[block.VolumeStatusSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	// A target below another's is mounted after it.
	slices.SortFunc(statuses, func(a, b *resource.Typed[block.VolumeStatusSpec]) int {
		return cmp.Compare(a.TypedSpec().MountSpec.TargetPath, b.TypedSpec().MountSpec.TargetPath)
	})

	var failures []error

	for _, s := range statuses {
		id := s.Metadata().ID()

		requests := wanted[id]
		if len(requests) == 0 {
			continue
		}

		mounted, err := m.mount(ctx, rt, s, requests, log)
		if err != nil {
			failures = append(failures, fmt.Errorf("volume %s: %w", id, err))
		}

		if !mounted {
			continue
		}

		for _, r := range requests {
			if err := grant(ctx, rt, r, s.TypedSpec()); err != nil {
				failures = append(failures, fmt.Errorf("grant %s: %w", r.Metadata().ID(), err))
			}
		}
	}

	return errors.Join(failures...)
}

// mount sees to it that a volume is mounted, and tells whether it is.
func (m *mounts) mount(
	ctx context.Context, rt controller.Runtime, s *resource.Typed[block.VolumeStatusSpec],
	requests []*resource.Typed[block.VolumeMountRequestSpec], log *slog.Logger,
) (bool, error) {
	var (
		id, spec = s.Metadata().ID(), s.TypedSpec()
		ask      = asked(id, requests)
		readOnly = spec.MountSpec.ReadOnly() || ask.ReadOnly
	)

	if spec.MountSpec.TargetPath == "" {
		return false, errors.New("it cannot be mounted")
	}

	old, err := typed.Find[block.MountStatusSpec](ctx, rt, "", id)
	if err != nil {
		return false, err
	}

	switch {
	case old != nil && old.Metadata().Phase() == resource.PhaseTearingDown:
		return false, nil
	case old != nil && old.TypedSpec().ReadOnly && !readOnly:
		err = m.mounter.Writable(spec.MountSpec.TargetPath)
	case old != nil:
		// One that is writable stays so: who writes may not have finished.
		readOnly = old.TypedSpec().ReadOnly
	case spec.Phase != block.VolumePhaseReady || s.Metadata().Phase() != resource.PhaseRunning:
		return false, nil
	default:
		if err = rt.AddFinalizer(ctx, s.Metadata().Pointer(), mountName); err != nil {
			return false, err
		}

		start := time.Now()

		err = m.mounter.Mount(ctx, id, *spec, readOnly)
		if err == nil {
			log.Info("volume mounted", "volume", id, "source", spec.MountLocation, "target", spec.MountSpec.TargetPath,
				"readonly", readOnly, "took", time.Since(start).Round(time.Millisecond))
		}
	}

	if err != nil {
		return false, err
	}

	return true, typed.Set(ctx, rt, "", id, block.MountStatusSpec{
		Spec: ask, Source: spec.MountLocation, Target: spec.MountSpec.TargetPath, Filesystem: spec.Filesystem, ReadOnly: readOnly,
	})
}

// asked is what all requests of a volume come to.
func asked(volume string, requests []*resource.Typed[block.VolumeMountRequestSpec]) block.MountRequestSpec {
	out := block.MountRequestSpec{VolumeID: volume, ReadOnly: true}

	for _, r := range requests {
		out.Requesters = append(out.Requesters, r.TypedSpec().Requester)
		out.RequesterIDs = append(out.RequesterIDs, r.Metadata().ID())
		out.ReadOnly = out.ReadOnly && r.TypedSpec().ReadOnly
	}

	return out
}

func grant(ctx context.Context, rt controller.Runtime, r *resource.Typed[block.VolumeMountRequestSpec], s *block.VolumeStatusSpec) error {
	if err := rt.AddFinalizer(ctx, r.Metadata().Pointer(), mountName); err != nil {
		return err
	}

	spec := r.TypedSpec()

	err := typed.Set(ctx, rt, "", r.Metadata().ID(), block.VolumeMountStatusSpec{
		VolumeID: spec.VolumeID, Requester: spec.Requester, Target: s.MountSpec.TargetPath,
		ReadOnly: spec.ReadOnly || s.MountSpec.ReadOnly(), Detached: spec.Detached, DisableAccessTime: spec.DisableAccessTime,
		Secure: s.MountSpec.Secure, NoExec: s.MountSpec.NoExec,
	})

	// An older grant of the same id is still held; the runtime wakes us when it is free.
	if state.IsPhaseConflict(err) {
		return nil
	}

	return err
}

// unmountAll unmounts what nobody wants and nobody holds, and returns how many volumes stay mounted.
func (m *mounts) unmountAll(ctx context.Context, rt controller.Runtime, wanted map[string][]*resource.Typed[block.VolumeMountRequestSpec], log *slog.Logger) (int, error) {
	mounted, err := typed.List[block.MountStatusSpec](ctx, rt, "")
	if err != nil {
		return 0, err
	}

	grants, err := typed.List[block.VolumeMountStatusSpec](ctx, rt, "")
	if err != nil {
		return 0, err
	}

	held := map[string]bool{}
	for _, g := range grants {
		held[g.TypedSpec().VolumeID] = true
	}

	// EPHEMERAL last: what else is on the machine may have something on it.
	slices.SortStableFunc(mounted, func(a, b *resource.Typed[block.MountStatusSpec]) int {
		return cmp.Or(
			cmp.Compare(truth(a.Metadata().ID() == block.VolumeEphemeral), truth(b.Metadata().ID() == block.VolumeEphemeral)),
			cmp.Compare(b.TypedSpec().Target, a.TypedSpec().Target),
		)
	})

	left := 0

	for _, s := range mounted {
		id := s.Metadata().ID()
		if held[id] || len(wanted[id]) > 0 {
			left++

			continue
		}

		if err := m.unmount(id, *s.TypedSpec(), log); err != nil {
			if m.busy[id] != err.Error() {
				m.busy[id] = err.Error()
				log.Warn("volume stays mounted for now", "volume", id, "error", err)
			}

			time.AfterFunc(busyRetry, rt.QueueReconcile)

			left++

			continue
		}

		if ready, err := rt.Teardown(ctx, s.Metadata().Pointer()); err != nil || !ready {
			return left, err
		}

		if err := rt.Destroy(ctx, s.Metadata().Pointer()); err != nil {
			return left, err
		}

		if err := rt.RemoveFinalizer(ctx, resource.PointerOf[block.VolumeStatusSpec]("", id), mountName); err != nil {
			return left, err
		}
	}

	return left, nil
}

func truth(b bool) int {
	if b {
		return 1
	}

	return 0
}

func (m *mounts) unmount(id string, s block.MountStatusSpec, log *slog.Logger) error {
	target := s.Target

	err := m.mounter.Unmount(target)
	if err == nil {
		delete(m.busy, id)
		log.Info("volume unmounted", "volume", id, "target", target)

		return nil
	}

	if m.closing.IsZero() || !s.ReadOnly && time.Since(m.closing) < busyLimit {
		return err
	}

	// Pods run until the machine is off, and their layers are files of the image cache.
	if s.ReadOnly {
		log.Info("volume stays mounted: it is read-only, and in use", "volume", id, "target", target)

		return nil
	}

	log.Error("volume cannot be unmounted, and the machine goes down", "volume", id, "error", err)

	if err := m.mounter.Abandon(target); err != nil {
		log.Error("volume was flushed, but stays writable", "volume", id, "error", err)
	}

	return nil
}

// release lets go the requests whose grant is gone.
func release(ctx context.Context, rt controller.Runtime, requests []*resource.Typed[block.VolumeMountRequestSpec]) error {
	for _, r := range requests {
		if r.Metadata().Phase() != resource.PhaseTearingDown || !r.Metadata().HasFinalizer(mountName) {
			continue
		}

		g, err := typed.Find[block.VolumeMountStatusSpec](ctx, rt, "", r.Metadata().ID())
		if err != nil {
			return err
		}

		if g != nil {
			continue
		}

		if err := rt.RemoveFinalizer(ctx, r.Metadata().Pointer(), mountName); err != nil {
			return err
		}
	}

	return nil
}
