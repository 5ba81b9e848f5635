// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// specController changes the kernel by the merged specs of S, with plans, and publishes a condition for each spec. Changes of specs and of
// the kernel wake it.
type specController[S layered] struct {
	declared
	// kind is the first part of the ids of its conditions.
	kind   string
	kernel *netlink.Observer
	// what is the part of the kernel's state that plans depend on; 0 is all.
	what netlink.Groups
	// reads is the part that a plan needs; 0 is all.
	reads netlink.Groups
	// touches is what a step may change of the kernel.
	touches netlink.Groups
	planner planner[S]
	tries   tries
	// passes is how often a reconcile plans at most; 0 is once.
	passes int
}

// planner plans for one kind of specs.
type planner[S layered] interface {
	plan(specs held[S], now *netlink.Snapshot) plan
}

func specsOf[S layered](name string) declared {
	return declared{name, []controller.Input{controller.In[S](controller.Strong, "")}, []controller.Output{controller.Out[network.SpecConditionSpec](controller.Shared)}}
}

// selective is a planner to which not all changes of single routes matter.
type selective interface {
	// listen makes all changes matter until the next plan is made: it is called before the snapshot is taken.
	listen()
	// interested may be called at any time.
	interested([]netlink.RouteChange) bool
}

// Run implements controller.Controller.
func (c *specController[S]) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var interested func([]netlink.RouteChange) bool
	if p, ok := c.planner.(selective); ok {
		interested = p.interested
	}

	return follow(ctx, rt, c.kernel.WatchOnly(c.what, interested), func(ctx context.Context) (time.Duration, error) { return c.reconcile(ctx, rt, log) })
}

func (c *specController[S]) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) (time.Duration, error) {
	specs, p, err := c.converge(ctx, rt, func() (held[S], error) { return hold[S](ctx, rt, c.name) }, log)
	if err != nil {
		return 0, err
	}

	return p.again, c.report(ctx, rt, specs, p.conditions)
}

// converge plans and carries out until there is nothing to do, or until the last pass: then the kernel's events cause the next reconcile. It
// returns the last specs and their plan. With one pass each step that depends on another would wait for an event of the kernel: a VLAN for
// its bond, its VRF and the state up for the VLAN.
func (c *specController[S]) converge(ctx context.Context, rt controller.Runtime, wanted func() (held[S], error), log *slog.Logger) (specs held[S], p plan, err error) {
	var letGo func(changed bool)

	// What undoes a change is answered after its event, as tries limit it, and not in the next pass.
	done := map[stepOf]bool{}

	defer func() {
		if letGo != nil {
			letGo(len(done) > 0)
		}
	}()

	for pass := 1; ; pass++ {
		var now *netlink.Snapshot

		// Another pass has the specs of then: what was removed meanwhile must not be created again.
		if specs, now, err = c.look(wanted); err != nil {
			return specs, p, err
		}

		p = c.planner.plan(specs, now)
		if len(p.steps) > 0 && letGo == nil {
			letGo = c.kernel.Hold()
		}

		failed, succeeded := c.carryOut(&p, now.Generation, done, log)
		for _, s := range succeeded {
			done[s] = true
		}

		for _, s := range specs.leaving {
			if failed[s.id] || p.staying[s.id] {
				continue
			}

			if err := release[S](ctx, rt, c.name, s.id); err != nil {
				return specs, p, err
			}
		}

		if len(succeeded) == 0 || pass >= c.passes {
			return specs, p, nil
		}
	}
}

// look returns the specs and the kernel's state.
func (c *specController[S]) look(wanted func() (held[S], error)) (specs held[S], now *netlink.Snapshot, err error) {
	if specs, err = wanted(); err != nil {
		return specs, nil, err
	}

	if p, ok := c.planner.(selective); ok {
		p.listen()
	}

	reads := c.reads
	if reads == 0 {
		reads = netlink.WatchAll
	}

	now, err = c.kernel.Look(reads)

	return specs, now, err
}

// stepOf identifies a step in a reconcile: the id of its spec, and what it does.
type stepOf struct{ id, what string }

// carryOut executes the steps of a plan that were not done in an earlier pass. A failed step becomes a condition, and blocks no other. It
// returns which specs have failed, and which steps have succeeded.
func (c *specController[S]) carryOut(p *plan, generation uint64, done map[stepOf]bool, log *slog.Logger) (failed map[string]bool, succeeded []stepOf) {
	failed = map[string]bool{}
	wanted := map[string]bool{}

	for _, s := range p.steps {
		wanted[s.what] = true

		if done[stepOf{s.id, s.what}] {
			continue
		}

		generation := generation
		if s.disturbs {
			generation = noGeneration
		}

		pause, err := c.tries.allow(s.what, generation, time.Now())
		if err == nil {
			err = c.kernel.Change(c.touches, s.do)
			pause = c.tries.note(s.what, generation, time.Now(), err)

			if err == nil && s.silent {
				c.kernel.Announce(c.touches)
			}

			if err == nil {
				succeeded = append(succeeded, stepOf{s.id, s.what})

				log.Info("network changed", "spec", s.id, "change", s.what)
			} else {
				log.Debug("network not changed", "spec", s.id, "change", s.what, "error", err)
			}
		}

		if pause > 0 && (p.again == 0 || pause < p.again) {
			p.again = pause
		}

		if err != nil && !failed[s.id] {
			failed[s.id] = true
			p.say(s.id, stateOf(err), s.cause(err))
		}
	}

	c.tries.forget(wanted, time.Now())

	return failed, succeeded
}

func stateOf(err error) network.SpecState {
	switch {
	case errors.Is(err, errFought):
		return network.SpecConflict
	case notYet(err):
		return network.SpecWaiting
	default:
		return network.SpecRefused
	}
}

// report writes the conditions of wanted specs, and of those that cannot be removed.
func (c *specController[S]) report(ctx context.Context, rt controller.Runtime, specs held[S], conditions map[string]network.SpecConditionSpec) error {
	rt.StartTrackingOutputs()

	write := func(id string, condition network.SpecConditionSpec) error {
		return set(ctx, rt, "", network.SpecConditionID(c.kind, id), condition)
	}

	for _, s := range specs.wanted {
		if err := write(s.id, conditions[s.id]); err != nil {
			return err
		}
	}

	for _, s := range specs.leaving {
		if condition, ok := conditions[s.id]; ok {
			condition.Cause = "cannot be removed: " + condition.Cause
			if err := write(s.id, condition); err != nil {
				return err
			}
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[network.SpecConditionSpec](""))
}
