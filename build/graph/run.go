// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Reporter receives the progress of a run. Its methods are called from several goroutines.
type Reporter interface {
	// Waiting reports that a step waits for the named steps, or for a free slot if none is named.
	Waiting(step string, on []string)
	// Started reports that a step is not in the cache and runs.
	Started(step string)
	// Progress reports what a running step does.
	Progress(step, text string)
	// Finished reports that a step's result exists.
	Finished(step string, cached bool, took time.Duration)
	// Failed reports that a step failed.
	Failed(step string, err error)
}

// Run brings the named steps, and all that they need, up to date and publishes the results. After the first failure it
// starts no more steps and returns the error.
func (g *Graph) Run(ctx context.Context, rep Reporter, names ...string) error {
	steps, err := g.order(names...)
	if err != nil {
		return err
	}

	unlock, err := lock(ctx, g.cache, func() { rep.Waiting("build", []string{"another build of this tree"}) })
	if err != nil {
		return err
	}
	defer unlock()

	work, ctx := errgroup.WithContext(ctx)

	r := &run{graph: g, rep: rep, slots: semaphore.NewWeighted(int64(max(1, g.Slots))), done: map[string]*outcome{}}
	for _, s := range steps {
		r.done[s.Name] = &outcome{ready: make(chan struct{})}
	}

	for _, s := range steps {
		work.Go(func() error {
			result, err := r.step(ctx, s)
			if err == nil {
				r.done[s.Name].result = result
				close(r.done[s.Name].ready)

				return nil
			}

			if ctx.Err() == nil {
				rep.Failed(s.Name, err)
			}

			return fmt.Errorf("step %s: %w", s.Name, err)
		})
	}

	return work.Wait()
}

type outcome struct {
	ready  chan struct{} // closed when the result exists
	result Result
}

type run struct {
	graph *Graph
	rep   Reporter
	slots *semaphore.Weighted
	done  map[string]*outcome
}

// step brings one step up to date.
func (r *run) step(ctx context.Context, s Step) (Result, error) {
	needs, err := r.await(ctx, s)
	if err != nil {
		return Result{}, err
	}

	var inputs []string

	if s.Inputs != nil {
		if inputs, err = s.Inputs(ctx, needs); err != nil {
			return Result{}, fmt.Errorf("inputs: %w", err)
		}
	}

	e := entry{cache: r.graph.cache, step: s.Name, key: key(s, inputs, needs)}

	var took time.Duration

	result, cached := e.load()
	if !cached {
		if result, took, err = r.make(ctx, s, e, needs); err != nil {
			return Result{}, err
		}
	}

	for from, to := range s.Publish {
		if err := publish(result.Dir, from, r.graph.out, to); err != nil {
			return Result{}, err
		}
	}

	r.rep.Finished(s.Name, cached, took)

	return result, nil
}

// await waits for the results that a step needs.
func (r *run) await(ctx context.Context, s Step) (Results, error) {
	needs := Results{}

	for i, name := range s.Needs {
		o := r.done[name]

		select {
		case <-o.ready:
		default:
			r.rep.Waiting(s.Name, s.Needs[i:])
		}

		select {
		case <-o.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}

		needs[name] = o.result
	}

	return needs, nil
}

// make runs a step and caches its result. It also returns the duration, without the wait for a slot.
func (r *run) make(ctx context.Context, s Step, e entry, needs Results) (Result, time.Duration, error) {
	if s.Heavy {
		if !r.slots.TryAcquire(1) {
			r.rep.Waiting(s.Name, nil)

			if r.slots.Acquire(ctx, 1) != nil {
				return Result{}, 0, context.Cause(ctx)
			}
		}

		defer r.slots.Release(1)
	}

	if ctx.Err() != nil {
		return Result{}, 0, context.Cause(ctx)
	}

	start := time.Now()

	r.rep.Started(s.Name)

	dir, err := e.begin()
	if err != nil {
		return Result{}, 0, err
	}

	w := &Work{Dir: dir, Needs: needs, Progress: func(format string, args ...any) {
		r.rep.Progress(s.Name, fmt.Sprintf(format, args...))
	}}

	if err := s.Run(ctx, w); err != nil {
		return Result{}, 0, errors.Join(err, os.RemoveAll(dir))
	}

	result, err := e.commit(dir)

	return result, time.Since(start), err
}
