// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// queueAdapter runs one queue controller.
type queueAdapter struct {
	*declared

	rt       *Runtime
	c        controller.QueueController
	mapper   controller.Mapper // nil without mapped inputs
	settings controller.QueueSettings
	log      *slog.Logger
	queue    *queue[job, *controller.Changed] // the value is nil for a reconciliation, which reads the resource

	mu       sync.Mutex
	backoffs map[job]*backoff // of jobs that failed last
}

// job is a key of the queue: a resource to reconcile, or to map. There are few kinds, so the kind is interned.
type job struct {
	kind   unique.Handle[resource.Kind]
	id     string
	mapped bool
}

// compareJobs orders the jobs of one kind.
func compareJobs(a, b job) int { return strings.Compare(a.id, b.id) }

func (j job) pointer() resource.Pointer { return j.kind.Value().Pointer(j.id) }

// RegisterQueueController adds a queue controller, and starts it if the runtime runs.
func (rt *Runtime) RegisterQueueController(c controller.QueueController) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()

	a, err := newQueueAdapter(rt, c)
	if err != nil {
		return fmt.Errorf("register controller %q: %w", c.Name(), err)
	}

	return rt.register(a, a.settings.Outputs)
}

func newQueueAdapter(rt *Runtime, c controller.QueueController) (*queueAdapter, error) {
	settings := c.Settings()
	settings.Concurrency = max(settings.Concurrency, 1)

	mapper, maps := c.(controller.Mapper)
	primary := false

	for _, in := range settings.Inputs {
		if in.Kind < controller.Primary || in.Kind > controller.MappedDestroyReady {
			return nil, fmt.Errorf("input %s has a kind for controllers without a queue", kindOf(in))
		}

		if in.Kind != controller.Primary && !maps {
			return nil, fmt.Errorf("input %s is mapped, and the controller has no MapInput", kindOf(in))
		}

		primary = primary || in.Kind == controller.Primary
	}

	if !primary {
		return nil, errors.New("none of the inputs is primary")
	}

	declared, err := newDeclared(rt.state, c.Name(), settings.Inputs, settings.Outputs)
	if err != nil {
		return nil, err
	}

	return &queueAdapter{
		declared: declared, rt: rt, c: c, mapper: mapper, settings: settings,
		log: rt.log.With("controller", c.Name()),
		queue: newQueue[job, *controller.Changed](rt.limit, func(j job, limited bool) {
			rt.tellLimited(c.Name(), subject{resource: j.pointer().String(), limited: true}, limited)
		}),
		backoffs: map[job]*backoff{},
	}, nil
}

func (a *queueAdapter) name() string { return a.Name() }

func (a *queueAdapter) metrics() Metrics {
	m := a.declared.metrics()
	m.QueueLength = a.queue.len()

	return m
}

// start subscribes to the inputs. fill adds the existing resources.
func (a *queueAdapter) start(ctx context.Context) error {
	wanted := map[resource.Kind][]route{}

	for _, in := range a.settings.Inputs {
		kind := kindOf(in)
		known := unique.Make(kind)
		mapped := in.Kind != controller.Primary

		wanted[kind] = append(wanted[kind], route{
			owner: a, id: in.ID, destroyReady: in.Kind == controller.MappedDestroyReady, tombstones: true,
			deliver: func(ev *state.Event) {
				if ev == nil {
					a.rt.finished.Go(func() { a.fill(ctx, in) })

					return
				}

				a.counts.wakeups.Add(1)
				a.put(known, mapped, ev.Resource.Metadata())
			},
		})
	}

	return a.rt.routes.replace(a, wanted)
}

// fill puts all existing resources of an input into the queue.
func (a *queueAdapter) fill(ctx context.Context, in controller.Input) {
	for retry := newBackoff(); ; {
		items, err := a.state.List(ctx, kindOf(in))
		if err == nil {
			a.rt.routes.learn(kindOf(in), items)
			a.enter(in, items)

			return
		}

		a.log.Error("list of an input failed", "kind", kindOf(in).String(), "error", err)

		if !sleep(ctx, retry.wait()) {
			return
		}
	}
}

func (a *queueAdapter) enter(in controller.Input, items []resource.Resource) {
	if in.ID != "" {
		items = slices.DeleteFunc(slices.Clone(items), func(r resource.Resource) bool { return r.Metadata().ID() != in.ID })
	}

	kind := unique.Make(kindOf(in))

	if in.Kind != controller.Primary {
		for _, r := range items {
			a.put(kind, true, r.Metadata())
		}

		return
	}

	a.queue.fill(len(items), func(i int) job { return job{kind: kind, id: items[i].Metadata().ID()} }, compareJobs)
}

func (a *queueAdapter) put(kind unique.Handle[resource.Kind], mapped bool, md *resource.Metadata) {
	j := job{kind: kind, id: md.ID(), mapped: mapped}

	if !mapped {
		a.queue.put(j, nil)

		return
	}

	changed := controller.ChangedOf(md)
	a.queue.put(j, &changed)
}

// run works until the context ends.
func (a *queueAdapter) run(ctx context.Context) {
	var wg sync.WaitGroup

	a.queue.open()

	stop := context.AfterFunc(ctx, a.queue.close)
	defer stop()

	for _, in := range a.settings.Inputs {
		if in.Kind == controller.Primary {
			wg.Go(func() { a.fill(ctx, in) })
		}
	}

	if a.settings.RunHook != nil {
		wg.Go(func() { a.runHook(ctx) })
	}

	for range a.settings.Concurrency {
		wg.Go(func() { a.work(ctx) })
	}

	wg.Wait()
	<-ctx.Done()

	if a.settings.ShutdownHook != nil {
		if err := guard.Call(func() error { return a.settings.ShutdownHook(context.WithoutCancel(ctx), a.declared, a.log) }); err != nil {
			a.log.Error("shutdown hook failed", "error", err)
		}
	}
}

func (a *queueAdapter) runHook(ctx context.Context) {
	for retry := newBackoff(); ; {
		err := guard.Call(func() error { return a.settings.RunHook(ctx, a.declared, a.log) })
		if err == nil || ctx.Err() != nil {
			return
		}

		a.counts.crashes.Add(1)

		delay := retry.wait()
		a.log.Error("run hook failed, restarting", "error", err, "after", delay)

		if !sleep(ctx, delay) {
			return
		}
	}
}

func (a *queueAdapter) work(ctx context.Context) {
	for {
		it, changed := a.queue.take(ctx)
		if it == nil {
			return
		}

		a.settle(ctx, it, a.do(ctx, it.key, changed))
	}
}

// do runs one job.
func (a *queueAdapter) do(ctx context.Context, j job, changed *controller.Changed) error {
	defer a.counts.processed.Add(1)

	ptr := j.pointer()

	return guard.Call(func() error {
		if len(a.rt.observers) == 0 {
			return a.round(ctx, j, ptr, changed)
		}

		return a.rt.observe(ctx, Round{Controller: a.Name(), Resource: ptr, Mapping: j.mapped}, func(ctx context.Context) error {
			return a.round(ctx, j, ptr, changed)
		})
	})
}

func (a *queueAdapter) round(ctx context.Context, j job, ptr resource.Pointer, changed *controller.Changed) error {
	if j.mapped {
		return a.mapInput(ctx, *changed)
	}

	return a.c.Reconcile(ctx, a.declared, logOf(a.log, ptr), ptr)
}

// settle gives a job back to the queue, depending on its error.
func (a *queueAdapter) settle(ctx context.Context, it *queued[job, *controller.Changed], err error) {
	const never = -1

	j := it.key

	if err == nil || ctx.Err() != nil {
		a.healthy(j)
		a.queue.release(it, never)

		return
	}

	var requeue *controller.RequeueError

	errors.As(err, &requeue)

	outcome := OutcomeOf(err)
	if outcome != Failed {
		a.healthy(j)
	}

	switch outcome { // an error is not Done
	case Requeued:
		a.counts.requeues.Add(1)
		a.queue.release(it, requeue.After)

		return
	case Skipped:
		a.counts.skips.Add(1)
		a.log.Info("skipped", "resource", j.pointer().String(), "reason", err)
		a.queue.release(it, never)

		return
	case Failed:
	}

	a.counts.crashes.Add(1)
	a.rt.failures.failed(a.Name(), subject{resource: j.pointer().String()}, err)

	delay, floor := a.failing(j).next(it.early)
	if requeue != nil && requeue.After > 0 {
		delay, floor = requeue.After, min(floor, requeue.After)
	}

	a.log.Error("reconcile failed", "resource", j.pointer().String(), "error", err, "after", delay)
	a.queue.retry(it, delay, floor)
}

func (a *queueAdapter) mapInput(ctx context.Context, changed controller.Changed) error {
	a.counts.mapping.Add(1)

	concerned, err := a.mapper.MapInput(ctx, a.declared, a.log, changed)
	if err != nil {
		return err
	}

	for _, ptr := range concerned {
		if !a.isPrimary(ptr.Kind()) {
			return fmt.Errorf("%s was mapped to %s, which is not a primary input", changed.Pointer, ptr)
		}

		a.queue.put(job{kind: unique.Make(ptr.Kind()), id: ptr.ID}, nil)
	}

	return nil
}

func (a *queueAdapter) isPrimary(kind resource.Kind) bool {
	return slices.ContainsFunc(a.settings.Inputs, func(in controller.Input) bool {
		return in.Kind == controller.Primary && kindOf(in) == kind
	})
}

func (a *queueAdapter) failing(j job) *backoff {
	a.mu.Lock()
	defer a.mu.Unlock()

	if a.backoffs[j] == nil {
		a.backoffs[j] = newBackoff()
	}

	return a.backoffs[j]
}

func (a *queueAdapter) healthy(j job) {
	a.mu.Lock()
	_, failed := a.backoffs[j]
	delete(a.backoffs, j)
	a.mu.Unlock()

	if failed {
		a.rt.failures.succeeded(a.Name(), subject{resource: j.pointer().String()})
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
