// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// Participant is something that has to end before the machine goes down.
type Participant struct {
	ID string
	// Needs are the ids of participants that must outlive it, if they run.
	Needs []string
	// Timeout of Stop.
	Timeout time.Duration
	// Stop ends it, and returns when it has ended. It may be called again after the controller was restarted.
	Stop func(ctx context.Context, request runtime.PowerRequestSpec) error
}

// lateness is the time that Stop has after its timeout to return an error.
const lateness = time.Second

// ending is the state of a machine that goes down.
type ending struct {
	request  runtime.PowerRequestSpec
	parts    map[string]Participant
	stops    map[string]*stop
	wake     func()
	deadline time.Time
}

// stop is the end of one participant.
type stop struct {
	began time.Time
	done  <-chan error
	ended bool
}

// hold keeps one Lifecycle for each participant, with the finalizers of those that need it.
func (c *PowerController) hold(ctx context.Context, rt controller.Runtime, parts []Participant) error {
	if c.held == nil {
		c.held = map[string]bool{}
	}

	wanted := map[string][]string{} // finalizers, by the participant that they hold

	for _, p := range parts {
		c.held[p.ID] = true

		for _, need := range p.Needs {
			if !slices.Contains(wanted[need], p.ID) {
				wanted[need] = append(wanted[need], p.ID)
			}
		}
	}

	// First of all, so that what has ended and runs again can have a Lifecycle again.
	if err := c.letGo(ctx, rt, wanted); err != nil {
		return err
	}

	rt.StartTrackingOutputs()

	for _, p := range parts {
		needs := slices.Compact(slices.Sorted(slices.Values(p.Needs)))

		// While another controller holds the former Lifecycle there is no other one. Its end wakes this controller.
		err := typed.Set(ctx, rt, "", p.ID, runtime.LifecycleSpec{Needs: needs, Timeout: p.Timeout})
		if err != nil && !state.IsPhaseConflict(err) {
			return err
		}
	}

	all, err := typed.List[runtime.LifecycleSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	for _, l := range all {
		md := l.Metadata()

		for _, id := range wanted[md.ID()] {
			if md.Phase() == resource.PhaseRunning && !md.HasFinalizer(id) {
				if err := rt.AddFinalizer(ctx, md.Pointer(), id); err != nil {
					return err
				}
			}
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[runtime.LifecycleSpec](""))
}

// letGo removes the finalizers of participants that do not need a Lifecycle any more: it is not among the wanted ones, or it is torn down, as
// that of a participant which has ended.
func (c *PowerController) letGo(ctx context.Context, rt controller.Runtime, wanted map[string][]string) error {
	all, err := typed.List[runtime.LifecycleSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	for _, l := range all {
		md := l.Metadata()

		for _, id := range md.Finalizers() {
			if c.held[id] && (md.Phase() != resource.PhaseRunning || !slices.Contains(wanted[md.ID()], id)) {
				if err := rt.RemoveFinalizer(ctx, md.Pointer(), id); err != nil {
					return err
				}
			}
		}
	}

	return nil
}

// end stops the participants that nothing holds any more, and returns the ids of those that are left.
func (c *PowerController) end(ctx context.Context, rt controller.Runtime, log *slog.Logger) (left []string, err error) {
	all, err := typed.List[runtime.LifecycleSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	for _, l := range all {
		md := l.Metadata()
		left = append(left, md.ID())

		ready, err := rt.Teardown(ctx, md.Pointer())
		if err != nil {
			return nil, err
		}

		if !ready || !c.stopped(ctx, md.ID(), log) {
			continue
		}

		for _, other := range all {
			if err := rt.RemoveFinalizer(ctx, other.Metadata().Pointer(), md.ID()); err != nil {
				return nil, err
			}
		}

		if err := rt.Destroy(ctx, md.Pointer()); err != nil {
			return nil, err
		}

		left = left[:len(left)-1]
		c.ending.wake() // the participants that it held may end now
	}

	return left, nil
}

// stopped calls Stop of a participant once, and reports whether it has ended or timed out.
func (c *PowerController) stopped(ctx context.Context, id string, log *slog.Logger) bool {
	s := c.ending.stops[id]
	if s == nil {
		s = &stop{began: time.Now(), done: c.stop(ctx, id, log)}
		c.ending.stops[id] = s
		c.tell(&machine.PhaseEvent{Phase: id, Action: machine.PhaseEvent_START})
	}

	if s.ended {
		return true
	}

	select {
	case err := <-s.done:
		s.ended = true
		took := time.Since(s.began).Round(time.Millisecond)

		if err != nil {
			log.Error("ended with an error", "id", id, "error", err, "took", took)
		} else {
			log.Info("ended", "id", id, "took", took)
		}

		// A failed participant has ended too: the machine goes down all the same.
		c.tell(&machine.PhaseEvent{Phase: id, Action: machine.PhaseEvent_STOP})
	default:
	}

	return s.ended
}

// stop calls a participant's Stop. The channel gets its result, or an error after the timeout, because Stop may hang in the kernel.
func (c *PowerController) stop(ctx context.Context, id string, log *slog.Logger) <-chan error {
	done := make(chan error, 1)

	p, known := c.ending.parts[id]
	if !known { // it has ended already
		done <- nil

		return done
	}

	request, wake := c.ending.request, c.ending.wake
	// A restart of the controller does not interrupt Stop.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Timeout)
	stopped := guard.Go(func() error { return p.Stop(ctx, request) })

	guard.Detach(log, "end of "+id, func() {
		defer cancel()

		select {
		case err := <-stopped:
			done <- err
		case <-time.After(p.Timeout + lateness):
			done <- fmt.Errorf("timed out after %s", p.Timeout)
		}

		wake()
	})

	return done
}
