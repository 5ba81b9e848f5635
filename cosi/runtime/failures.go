// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// statusOwner owns the statuses of controllers.
const statusOwner = "runtime"

// maxStatusError is how much of an error a status tells, in bytes.
const maxStatusError = 2048

// failures shows the controllers that fail as resources. Those that do not fail cost one atomic read at each success.
type failures struct {
	state state.State
	log   *slog.Logger
	ctx   context.Context //nolint:containedctx // of the runtime
	count atomic.Int64    // of failing subjects

	mu      sync.Mutex
	failing map[string]*failing
}

// failing is one controller. Its subjects are the resources that a queue controller fails on, or "" for the controller
// as a whole, each with its error.
type failing struct {
	subjects map[string]string
	spec     meta.ControllerStatusSpec
}

// ShowFailures has a resource meta.ControllerStatusSpec for each controller from its first failure until its next
// success. It is called before Run.
func (rt *Runtime) ShowFailures() {
	rt.failures = &failures{state: rt.state, log: rt.log, failing: map[string]*failing{}}
}

func (f *failures) failed(controller, subject string, err error) {
	if f == nil {
		return
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	c := f.failing[controller]
	if c == nil {
		c = &failing{subjects: map[string]string{}, spec: meta.ControllerStatusSpec{Since: time.Now().UTC()}}
		f.failing[controller] = c
	}

	if _, known := c.subjects[subject]; !known {
		f.count.Add(1)
	}

	c.subjects[subject] = statusText(err)
	c.spec.Failures++
	c.spec.Resource, c.spec.Error = subject, c.subjects[subject]

	f.publish(controller, c.spec)
}

// succeeded forgets the failure of a subject; the status goes with the last of them.
func (f *failures) succeeded(controller, subject string) {
	if f == nil || f.count.Load() == 0 {
		return
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	c := f.failing[controller]
	if c == nil {
		return
	}

	if _, known := c.subjects[subject]; !known {
		return
	}

	delete(c.subjects, subject)
	f.count.Add(-1)

	if len(c.subjects) > 0 {
		if subject == c.spec.Resource {
			c.spec.Resource = slices.Min(slices.Collect(maps.Keys(c.subjects)))
			c.spec.Error = c.subjects[c.spec.Resource]
			f.publish(controller, c.spec)
		}

		return
	}

	delete(f.failing, controller)

	ptr := meta.ControllerStatusOf(controller)
	if err := f.state.Destroy(f.ctx, ptr, state.WithOwner(statusOwner)); err != nil && !state.IsNotFound(err) && f.ctx.Err() == nil {
		f.log.Warn("the status of a controller is out of date", "controller", controller, "error", err)
	}
}

func (f *failures) publish(controller string, spec meta.ControllerStatusSpec) {
	err := typed.Set(f.ctx, f.state, meta.NamespaceName, controller, spec, state.WithOwner(statusOwner))
	if err != nil && f.ctx.Err() == nil {
		f.log.Warn("the status of a controller is out of date", "controller", controller, "error", err)
	}
}

// statusText is the error as users read it: of a panic without the stack, which is in the log, and of no great length.
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
