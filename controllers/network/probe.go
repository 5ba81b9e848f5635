// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// ProbeOnce makes one attempt of a probe.
type ProbeOnce func(ctx context.Context, spec network.ProbeSpecSpec) error

// probeController runs the probes, each on its own, and publishes their results. It does not use a generic: probes go on between
// reconciles.
func probeController(d *Deps) controller.Controller {
	once := d.ProbeOnce
	if once == nil {
		once = probeOnce
	}

	return &probes{once: once, running: map[string]*probe{}, declared: declared{
		name:   "network.ProbeController",
		reads:  []controller.Input{controller.In[network.ProbeSpecSpec](controller.Weak, "")},
		writes: []controller.Output{controller.Out[network.ProbeStatusSpec](controller.Exclusive)},
	}}
}

type probes struct {
	declared
	once    ProbeOnce
	running map[string]*probe
}

// probe is a running probe.
type probe struct {
	spec   network.ProbeSpecSpec
	cancel context.CancelFunc
	done   <-chan error

	mu    sync.Mutex
	state probeState
}

// minProbeInterval is the shortest pause between two attempts.
const minProbeInterval = 100 * time.Millisecond

// Run implements controller.Controller.
func (c *probes) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer func() {
		if ctx.Err() != nil {
			for id := range c.running {
				c.stop(id)
			}
		}
	}()

	watch := func(ctx context.Context, _ func()) error {
		<-ctx.Done()

		return nil
	}

	probing := ctx

	return follow(ctx, rt, watch, func(ctx context.Context) (time.Duration, error) { return 0, c.reconcile(ctx, probing, rt, log) })
}

func (c *probes) reconcile(ctx, probing context.Context, rt controller.Runtime, log *slog.Logger) error {
	specs, err := typed.List[network.ProbeSpecSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	wanted := map[string]network.ProbeSpecSpec{}

	for _, s := range specs {
		if s.Metadata().Phase() == resource.PhaseRunning {
			wanted[s.Metadata().ID()] = *s.TypedSpec()
		}
	}

	for id, p := range c.running {
		if spec, ok := wanted[id]; !ok || spec != p.spec {
			c.stop(id)
		}
	}

	for id, spec := range wanted {
		if c.running[id] == nil {
			c.start(probing, id, spec, rt.QueueReconcile, log)
		}
	}

	rt.StartTrackingOutputs()

	for id, p := range c.running {
		p.mu.Lock()
		state := p.state
		p.mu.Unlock()

		if !state.known {
			continue
		}

		if err := set(ctx, rt, "", id, state.status); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[network.ProbeStatusSpec](""))
}

func (c *probes) start(ctx context.Context, id string, spec network.ProbeSpecSpec, changed func(), log *slog.Logger) {
	ctx, cancel := context.WithCancel(ctx)
	p := &probe{spec: spec, cancel: cancel}
	c.running[id] = p

	p.done = guard.Go(func() error {
		p.run(ctx, c.once, func(err error) {
			log.Info("the result of a probe changed", "probe", id, "error", err)
			changed()
		})

		return nil
	})
}

func (c *probes) stop(id string) {
	p := c.running[id]
	delete(c.running, id)

	p.cancel()
	<-p.done
}

// run makes attempts until the context ends. A panic of an attempt is a failure of it.
func (p *probe) run(ctx context.Context, once ProbeOnce, changed func(error)) {
	for {
		err := guard.Call(func() error { return once(ctx, p.spec) })
		if ctx.Err() != nil {
			return
		}

		p.mu.Lock()
		next, news := p.state.next(err, max(1, p.spec.FailureThreshold))
		p.state = next
		p.mu.Unlock()

		if news {
			changed(err)
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(max(p.spec.Interval, minProbeInterval)):
		}
	}
}
