// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// VolumeTrimScheduleController has the next time at which each mounted volume is trimmed. The times of a volume are apart by its interval,
// and begin at one that follows from the identity of the machine: so not all machines of a cluster trim at once, and a reboot does not
// change when a volume is trimmed.
func VolumeTrimScheduleController() controller.Controller {
	s := &trimSchedules{}

	return &controller.Reconciler{
		ControllerName: "block.VolumeTrimScheduleController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[block.MountStatusSpec](controller.Weak, ""),
			controller.In[cluster.IdentitySpec](controller.Weak, "", cluster.LocalIdentityID),
		},
		Writes:    []controller.Output{controller.Out[block.VolumeTrimScheduleSpec](controller.Exclusive)},
		Cleanup:   []resource.Kind{resource.KindOf[block.VolumeTrimScheduleSpec]("")},
		Reconcile: s.reconcile,
	}
}

type trimSchedules struct{ again *time.Timer }

func (s *trimSchedules) reconcile(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	cfg, err := fromconfig.View(ctx, rt)
	if err != nil {
		return err
	}

	var identity cluster.IdentitySpec
	if f := typed.Read(ctx, rt, cluster.LocalIdentityID, &identity); !f.OK {
		return f.Err
	}

	mounted, err := typed.List[block.MountStatusSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	if s.again != nil {
		s.again.Stop()
	}

	var first time.Time

	for _, m := range mounted {
		volume, spec := m.Metadata().ID(), m.TypedSpec()

		interval := cfg.TrimInterval(volume)
		if interval == 0 || spec.ReadOnly || m.Metadata().Phase() != resource.PhaseRunning {
			continue
		}

		next := nextTrim(time.Now(), interval, identity.NodeID+"/"+volume)
		if first.IsZero() || next.Before(first) {
			first = next
		}

		schedule := block.VolumeTrimScheduleSpec{Filesystem: spec.Filesystem, Interval: interval, NextTrim: next}
		if err := typed.Set(ctx, rt, "", volume, schedule); err != nil {
			return err
		}
	}

	if !first.IsZero() {
		s.again = time.AfterFunc(time.Until(first), rt.QueueReconcile)
	}

	return nil
}

// nextTrim returns the first time after now that is a whole number of intervals after the one that follows from the seed. Intervals are
// whole seconds.
func nextTrim(now time.Time, interval time.Duration, seed string) time.Time {
	h := fnv.New64a()
	h.Write([]byte(seed))

	step := max(int64(interval/time.Second), 1)
	offset := int64(h.Sum64() % uint64(step))

	return time.Unix(now.Unix()+step-(now.Unix()-offset)%step, 0).UTC()
}
