// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// Trimmer tells the disk of a file system which blocks are not used, and returns their size; mount.Trim outside of tests.
// It ends soon after its context.
type Trimmer func(ctx context.Context, target string) (uint64, error)

// VolumeTrimController trims volumes at the times of their VolumeTrimSchedules. A trim may take minutes: it has a goroutine of its own, which
// ends when the volume is to be unmounted or the machine stops. Nothing waits for it; until it has ended, the mount controller tries again.
func VolumeTrimController(trim Trimmer) controller.Controller {
	t := &trims{trim: trim, due: map[string]time.Time{}, failed: map[string]error{}, running: map[string]context.CancelFunc{}}

	return &controller.Reconciler{
		ControllerName: "block.VolumeTrimController",
		Reads: []controller.Input{
			controller.In[block.VolumeTrimScheduleSpec](controller.Weak, ""), controller.In[block.MountStatusSpec](controller.Weak, ""),
		},
		Writes:    []controller.Output{controller.Out[runtime.SettingConditionSpec](controller.Shared)},
		Cleanup:   []resource.Kind{resource.KindOf[runtime.SettingConditionSpec]("")},
		Reconcile: t.reconcile,
	}
}

type trims struct {
	trim Trimmer
	// due has the next time of each volume. It is not read from the schedule when it has come, which may have the time after it already.
	due   map[string]time.Time
	again *time.Timer

	one sync.Mutex // held while a volume is trimmed

	mu      sync.Mutex
	failed  map[string]error
	running map[string]context.CancelFunc
}

func (t *trims) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	schedules, err := typed.List[block.VolumeTrimScheduleSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	if err := t.stop(ctx, rt); err != nil {
		return err
	}

	if t.again != nil {
		t.again.Stop()
	}

	var first time.Time

	due := map[string]time.Time{}

	for _, r := range schedules {
		volume, next := r.Metadata().ID(), r.TypedSpec().NextTrim

		if at, known := t.due[volume]; known && !time.Now().Before(at) {
			if err := t.start(ctx, rt, log, volume); err != nil {
				return err
			}
		}

		if !time.Now().Before(next) {
			continue // the schedule gets its next time now
		}

		due[volume] = next
		if first.IsZero() || next.Before(first) {
			first = next
		}
	}

	t.due = due

	if !first.IsZero() {
		t.again = time.AfterFunc(time.Until(first), rt.QueueReconcile)
	}

	return t.show(ctx, rt, schedules)
}

// stop stops the trims of volumes that are to be unmounted.
func (t *trims) stop(ctx context.Context, rt controller.Runtime) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	for volume, stop := range t.running {
		m, err := mounted(ctx, rt, volume)
		if err != nil {
			return err
		}

		if m == nil {
			stop()
		}
	}

	return nil
}

// mounted returns where a volume is mounted, or nil if it is not, or not for long.
func mounted(ctx context.Context, rt controller.Runtime, volume string) (*block.MountStatusSpec, error) {
	m, err := typed.Find[block.MountStatusSpec](ctx, rt, "", volume)
	if err != nil || m == nil || m.Metadata().Phase() != resource.PhaseRunning {
		return nil, err
	}

	return m.TypedSpec(), nil
}

// start trims a volume in the background, if it is mounted and not being trimmed.
func (t *trims) start(ctx context.Context, rt controller.Runtime, log *slog.Logger, volume string) error {
	delete(t.due, volume)

	m, err := mounted(ctx, rt, volume)
	if err != nil || m == nil {
		return err
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	if t.running[volume] != nil {
		return nil
	}

	own, stop := context.WithCancel(ctx)
	t.running[volume] = stop
	target := m.Target

	guard.Go(func() error {
		defer stop()

		t.trimOne(own, log, volume, target)
		rt.QueueReconcile()

		return nil
	})

	return nil
}

// trimOne trims a volume after those that are being trimmed.
func (t *trims) trimOne(ctx context.Context, log *slog.Logger, volume, target string) {
	t.one.Lock()
	defer t.one.Unlock()

	var (
		start = time.Now()
		size  uint64
		err   = ctx.Err()
	)

	if err == nil {
		size, err = t.trim(ctx, target)
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	delete(t.running, volume)

	switch {
	case err == nil:
		delete(t.failed, volume)
		log.Info("volume trimmed", "volume", volume, "bytes", size, "took", time.Since(start).Round(time.Millisecond))
	case ctx.Err() == nil: // otherwise the next time will do
		t.failed[volume] = err
	}
}

func (t *trims) show(ctx context.Context, rt controller.Runtime, schedules []*resource.Typed[block.VolumeTrimScheduleSpec]) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	var errs []error

	for _, r := range schedules {
		volume := r.Metadata().ID()
		if err := t.failed[volume]; err != nil {
			errs = append(errs, typed.Set(ctx, rt, "", "trim/"+volume, runtime.SettingConditionSpec{Cause: err.Error()}))
		}
	}

	return errors.Join(errs...)
}
