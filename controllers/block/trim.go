// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// Trimmer tells the disk of a file system which blocks are not used, and returns their size; mount.Trim outside of tests.
type Trimmer func(target string) (uint64, error)

// VolumeTrimController trims volumes at the times of their VolumeTrimSchedules. A volume that is being trimmed cannot be unmounted, and
// the mount controller tries again until it can.
func VolumeTrimController(trim Trimmer) controller.Controller {
	t := &trims{trim: trim, due: map[string]time.Time{}, failed: map[string]error{}}

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
	due    map[string]time.Time
	failed map[string]error
	again  *time.Timer
}

func (t *trims) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	schedules, err := typed.List[block.VolumeTrimScheduleSpec](ctx, rt, "")
	if err != nil {
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
			if err := t.one(ctx, rt, log, volume); err != nil {
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

// one trims a volume, if it is mounted.
func (t *trims) one(ctx context.Context, rt controller.Runtime, log *slog.Logger, volume string) error {
	delete(t.due, volume)

	m, err := typed.Find[block.MountStatusSpec](ctx, rt, "", volume)
	if err != nil || m == nil || m.Metadata().Phase() != resource.PhaseRunning {
		return err
	}

	start := time.Now()
	size, err := t.trim(m.TypedSpec().Target)

	if t.failed[volume] = err; err == nil {
		delete(t.failed, volume)
		log.Info("volume trimmed", "volume", volume, "bytes", size, "took", time.Since(start).Round(time.Millisecond))
	}

	return nil
}

func (t *trims) show(ctx context.Context, rt controller.Runtime, schedules []*resource.Typed[block.VolumeTrimScheduleSpec]) error {
	var errs []error

	for _, r := range schedules {
		volume := r.Metadata().ID()
		if err := t.failed[volume]; err != nil {
			errs = append(errs, typed.Set(ctx, rt, "", "trim/"+volume, runtime.SettingConditionSpec{Cause: err.Error()}))
		}
	}

	return errors.Join(errs...)
}
