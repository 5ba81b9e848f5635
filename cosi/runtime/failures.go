// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// defaultOwner owns the statuses of controllers in a runtime without a name.
const defaultOwner = "runtime"

// maxStatusError is how much of an error a status shows, in bytes.
const maxStatusError = 2048

// failures shows failing controllers as resources. For a controller that does not fail, each success is one atomic read.
// A goroutine of its own writes the resources, and repeats a failed write.
type failures struct {
	state state.State
	log   *slog.Logger
	owner string
	count atomic.Int64 // of failing subjects
	wake  chan struct{}

	mu      sync.Mutex
	failing map[string]*failing
	changed map[string]bool // controllers whose status must be written
}

// failing is a controller with its failing subjects.
type failing struct {
	subjects map[subject]problem
	own      int // subjects whose problem is not that nothing answered
	last     subject
	spec     meta.ControllerStatusSpec
}

// problem is why a subject fails.
type problem struct {
	text string
	// unreached is set when nothing answered in the network.
	unreached bool
}

// subject of a failure: a resource of a queue controller, or "" for the controller as a whole. An exceeded rate limit is
// a separate subject.
type subject struct {
	resource string
	limited  bool
}

// ShowFailures creates a resource meta.ControllerStatusSpec for each controller from its first failure until its next
// success. Resources from an earlier start of the runtime are destroyed. Runtimes that share a store need different names
// (WithName). Call it before Run.
func (rt *Runtime) ShowFailures() {
	rt.failures = &failures{
		state: rt.state, log: rt.log, owner: rt.owner, wake: make(chan struct{}, 1),
		failing: map[string]*failing{}, changed: map[string]bool{},
	}
}

func (f *failures) failed(controller string, s subject, err error) {
	if f == nil {
		return
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	c := f.failing[controller]
	if c == nil {
		c = &failing{subjects: map[subject]problem{}, spec: meta.ControllerStatusSpec{Since: time.Now().UTC()}}
		f.failing[controller] = c
	}

	if _, known := c.subjects[s]; !known {
		f.count.Add(1)
	}

	c.set(s, problem{statusText(err), unreached(err)})

	if !s.limited {
		c.spec.Failures++
	}

	c.show(s)
	f.publish(controller)
}

// show selects the subject that the status shows.
func (c *failing) show(s subject) {
	c.last, c.spec.Resource, c.spec.Error = s, s.resource, c.subjects[s].text
}

// set adds a subject, or its latest problem.
func (c *failing) set(s subject, p problem) {
	c.remove(s)

	if !p.unreached {
		c.own++
	}

	c.subjects[s], c.spec.Unreached = p, c.own == 0
}

// remove removes a subject, if it is there.
func (c *failing) remove(s subject) {
	if p, ok := c.subjects[s]; ok && !p.unreached {
		c.own--
	}

	delete(c.subjects, s)

	c.spec.Unreached = c.own == 0
}

// succeeded removes the failure of a subject, and the status with the last failure.
func (f *failures) succeeded(controller string, s subject) {
	if f == nil || f.count.Load() == 0 {
		return
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	c := f.failing[controller]
	if c == nil {
		return
	}

	if _, known := c.subjects[s]; !known {
		return
	}

	was := c.spec.Unreached
	c.remove(s)
	f.count.Add(-1)

	switch {
	case len(c.subjects) == 0:
		delete(f.failing, controller)
	case s == c.last:
		c.show(slices.MinFunc(slices.Collect(maps.Keys(c.subjects)), func(a, b subject) int {
			return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(c.subjects[a].text, c.subjects[b].text))
		}))
	case c.spec.Unreached == was:
		return
	}

	f.publish(controller)
}

// publish requests a write of the status of a controller. The lock is held.
func (f *failures) publish(controller string) {
	f.changed[controller] = true

	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run writes changed statuses until the context ends.
func (f *failures) run(ctx context.Context) {
	retry := newBackoff()

	for cleared := false; ; {
		var err error

		if !cleared {
			err = f.clear(ctx)
			cleared = err == nil
		}

		if cleared {
			err = f.write(ctx)
		}

		if err == nil {
			retry.reset()

			select {
			case <-ctx.Done():
				return
			case <-f.wake:
			}

			continue
		}

		if ctx.Err() == nil {
			f.log.Warn("the statuses of controllers are out of date", "error", err)
		}

		if !sleep(ctx, retry.wait()) {
			return
		}
	}
}

// clear requests the removal of statuses from an earlier start.
func (f *failures) clear(ctx context.Context) error {
	left, err := f.state.List(ctx, resource.KindOf[meta.ControllerStatusSpec](meta.NamespaceName))
	if err != nil {
		return err
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	for _, r := range left {
		if r.Metadata().Owner() == f.owner {
			f.changed[r.Metadata().ID()] = true
		}
	}

	return nil
}

// write writes the changed statuses.
func (f *failures) write(ctx context.Context) error {
	for {
		f.mu.Lock()

		var name string
		for name = range f.changed {
			break
		}

		if len(f.changed) == 0 {
			f.mu.Unlock()

			return nil
		}

		delete(f.changed, name)

		var spec *meta.ControllerStatusSpec

		if c := f.failing[name]; c != nil {
			s := c.spec
			spec = &s
		}

		f.mu.Unlock()

		if err := f.set(ctx, name, spec); err != nil {
			f.mu.Lock()
			f.changed[name] = true
			f.mu.Unlock()

			return err
		}
	}
}

// set writes the status of a controller, or destroys it if spec is nil.
func (f *failures) set(ctx context.Context, controller string, spec *meta.ControllerStatusSpec) error {
	owner := state.WithOwner(f.owner)

	var err error
	if spec != nil {
		err = typed.Set(ctx, f.state, meta.NamespaceName, controller, *spec, owner)
	} else {
		err = f.state.Destroy(ctx, meta.ControllerStatusOf(controller), owner)
	}

	switch {
	case state.IsNotFound(err):
		return nil
	case state.IsConflict(err): // it has another owner: another attempt would not help
		f.log.Warn("the status of a controller cannot be shown", "controller", controller, "error", err)

		return nil
	default:
		return err
	}
}

// statusText returns the error for users: shortened, and for a panic without the stack, which is in the log.
func statusText(err error) string {
	text := err.Error()
	if strings.HasPrefix(text, "panic: ") {
		text, _, _ = strings.Cut(text, "\n")
	}

	if len(text) > maxStatusError {
		text = text[:maxStatusError] + "…"
	}

	return strings.ToValidUTF8(text, "�")
}

// unreached reports whether an error is that of a connection to another machine: it failed, or its time was up. A socket of this machine is none.
func unreached(err error) bool {
	var (
		connection *net.OpError
		name       *net.DNSError
		request    *url.Error
	)

	return errors.As(err, &connection) && connection.Net != "unix" || errors.As(err, &name) || errors.As(err, &request) && request.Timeout()
}
