// SPDX-License-Identifier: Apache-2.0

package block

import (
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
	// Mount mounts a volume, grows its file system to the size of its device, and creates the folders on it.
	Mount(ctx context.Context, volume string, s block.VolumeStatusSpec, readOnly bool) error
	// Writable remounts a volume that was mounted read-only.
	Writable(target string) error
	// Unmount unmounts a volume and all mounts on it. The error is errElsewhere if that was done, and another mount namespace keeps the file
	// system in use.
	Unmount(source, target string) error
	// Abandon makes a volume that cannot be unmounted read-only or, if that fails, flushes it.
	Abandon(target string) error
}

const mountName = "block.MountController"

// MountController mounts a volume while there are requests for it, grants each request with a VolumeMountStatus, and unmounts the
// volume after the last grant was destroyed. The teardown of the VolumeLifecycle takes back all grants.
func MountController(mounter Mounter) controller.Controller {
	m := &mounts{mounter: mounter}

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
	state   mountState
}

func (m *mounts) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	whole, err := typed.Find[block.VolumeLifecycleSpec](ctx, rt, "", block.VolumeLifecycleID)
	if err != nil {
		return err
	}

	requests, err := typed.List[block.VolumeMountRequestSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	state, wanted := noLifecycle, map[string][]mountRequest{}

	switch {
	case whole == nil:
	case whole.Metadata().Phase() == resource.PhaseRunning:
		state = running

		if err := rt.AddFinalizer(ctx, whole.Metadata().Pointer(), mountName); err != nil {
			return err
		}

		for _, r := range requests {
			if r.Metadata().Phase() == resource.PhaseRunning {
				wanted[r.TypedSpec().VolumeID] = append(wanted[r.TypedSpec().VolumeID], mountRequest{r.Metadata().ID(), *r.TypedSpec()})
			}
		}
	default:
		state = closing
	}

	volumes, err := see(ctx, rt, wanted)
	if err != nil {
		return err
	}

	rt.StartTrackingOutputs()

	// The failure of a volume does not stop the others.
	_, failure := m.handle(ctx, rt, seen{state, volumes}, log)

	if err := rt.CleanupOutputs(ctx, resource.KindOf[block.VolumeMountStatusSpec]("")); err != nil {
		return errors.Join(failure, err)
	}

	mounted, err := seeMounted(ctx, rt, wanted)
	if err != nil {
		return errors.Join(failure, err)
	}

	stays, err := m.handle(ctx, rt, cleaned{mounted}, log)
	if err != nil {
		return errors.Join(failure, err)
	}

	if err := release(ctx, rt, requests); err != nil {
		return errors.Join(failure, err)
	}

	if state == closing && !stays && !slices.ContainsFunc(mounted, func(v mountedVolume) bool { return v.used }) {
		return rt.RemoveFinalizer(ctx, whole.Metadata().Pointer(), mountName)
	}

	return failure
}

// see reads the state of the volumes.
func see(ctx context.Context, rt controller.Runtime, wanted map[string][]mountRequest) ([]volumeSeen, error) {
	statuses, err := typed.List[block.VolumeStatusSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	var volumes []volumeSeen

	for _, s := range statuses {
		id := s.Metadata().ID()
		v := volumeSeen{id: id, status: *s.TypedSpec(), leaving: s.Metadata().Phase() != resource.PhaseRunning, requests: wanted[id]}

		old, err := typed.Find[block.MountStatusSpec](ctx, rt, "", id)
		if err != nil {
			return nil, err
		}

		if old != nil {
			v.mount, v.unmounts = old.TypedSpec(), old.Metadata().Phase() == resource.PhaseTearingDown
		}

		volumes = append(volumes, v)
	}

	return volumes, nil
}

// seeMounted reads which volumes are mounted, and whether they are used.
func seeMounted(ctx context.Context, rt controller.Runtime, wanted map[string][]mountRequest) ([]mountedVolume, error) {
	mounted, err := typed.List[block.MountStatusSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	grants, err := typed.List[block.VolumeMountStatusSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	held := map[string]bool{}
	for _, g := range grants {
		held[g.TypedSpec().VolumeID] = true
	}

	var volumes []mountedVolume

	for _, s := range mounted {
		id := s.Metadata().ID()
		volumes = append(volumes, mountedVolume{id, *s.TypedSpec(), held[id] || len(wanted[id]) > 0})
	}

	return volumes, nil
}

// handle carries out the actions of an event. It reports whether a volume stays mounted that should not.
func (m *mounts) handle(ctx context.Context, rt controller.Runtime, event any, log *slog.Logger) (stays bool, failure error) {
	var all []volumeActions
	m.state, all = m.state.next(event, time.Now())

	for _, v := range all {
		for _, action := range v.actions {
			s, err := m.do(ctx, rt, v.volume, action, log)
			stays = stays || s

			if err != nil {
				failure = errors.Join(failure, fmt.Errorf("volume %s: %w", v.volume, err))
			}

			if _, granting := action.(grant); err != nil && !granting {
				break
			}
		}
	}

	return stays, failure
}

func (m *mounts) do(ctx context.Context, rt controller.Runtime, volume string, action any, log *slog.Logger) (stays bool, err error) {
	switch a := action.(type) {
	case refuse:
		return false, a.err
	case mountIt:
		if err := rt.AddFinalizer(ctx, resource.PointerOf[block.VolumeStatusSpec]("", volume), mountName); err != nil {
			return false, err
		}

		start := time.Now()
		if err := m.mounter.Mount(ctx, volume, a.status, a.readOnly); err != nil {
			return false, err
		}

		log.Info("volume mounted", "volume", volume, "source", a.status.MountLocation, "target", a.status.MountSpec.TargetPath,
			"readonly", a.readOnly, "took", time.Since(start).Round(time.Millisecond))
	case makeWritable:
		return false, m.mounter.Writable(a.target)
	case show:
		return false, typed.Set(ctx, rt, "", volume, a.MountStatusSpec)
	case grant:
		return false, give(ctx, rt, a)
	case unmount:
		return m.handle(ctx, rt, unmounted{a.mountedVolume, m.mounter.Unmount(a.Source, a.Target)}, log)
	case abandon:
		if err := m.mounter.Abandon(a.target); err != nil {
			log.Error("volume was flushed, but stays writable", "volume", volume, "error", err)
		}
	case forget:
		ptr := resource.PointerOf[block.MountStatusSpec]("", volume)
		if ready, err := rt.Teardown(ctx, ptr); err != nil || !ready {
			return false, err
		}

		if err := rt.Destroy(ctx, ptr); err != nil {
			return false, err
		}

		return false, rt.RemoveFinalizer(ctx, resource.PointerOf[block.VolumeStatusSpec]("", volume), mountName)
	case retry:
		time.AfterFunc(a.after, rt.QueueReconcile)

		return true, nil
	case report:
		log.Log(ctx, a.level, a.text, a.args...)
	}

	return false, nil
}

func give(ctx context.Context, rt controller.Runtime, a grant) error {
	if err := rt.AddFinalizer(ctx, resource.PointerOf[block.VolumeMountRequestSpec]("", a.request), mountName); err != nil {
		return fmt.Errorf("grant %s: %w", a.request, err)
	}

	// An older grant of the same id may still be held; the runtime wakes the controller when it is free.
	if err := typed.Set(ctx, rt, "", a.request, a.VolumeMountStatusSpec); err != nil && !state.IsPhaseConflict(err) {
		return fmt.Errorf("grant %s: %w", a.request, err)
	}

	return nil
}

// release removes the finalizer from requests whose grant was destroyed.
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
