// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// work is what a worker does until its context ends. It reports why it cannot do it now, or nil when it can again.
type work func(ctx context.Context, report func(error)) error

// job is a wanted worker.
type job struct {
	// version differs when the job is another one, which replaces that of the same id.
	version string
	// begin is called when the job starts, before keep returns.
	begin func() work
}

// workers are goroutines that resources ask for, by id. What they report is a SettingCondition of that id.
type workers struct {
	running map[string]*worker

	mu     sync.Mutex
	causes map[string]string
}

type worker struct {
	version string
	stop    context.CancelFunc
	ended   <-chan error
}

// keep starts the wanted jobs that do not run, stops the others, and writes the conditions. The error is that of jobs that ended.
func (w *workers) keep(ctx context.Context, rt controller.Runtime, wanted map[string]job) error {
	var errs []error

	for id, running := range w.running {
		select {
		case err := <-running.ended:
			errs = append(errs, err)
		default:
			if j, ok := wanted[id]; ok && j.version == running.version {
				continue
			}

			running.stop()
			<-running.ended
		}

		running.stop()
		delete(w.running, id)
		w.note(id, nil)
	}

	for id, j := range wanted {
		if w.running[id] == nil {
			w.start(ctx, rt, id, j)
		}
	}

	return errors.Join(append(errs, w.show(ctx, rt))...)
}

func (w *workers) start(ctx context.Context, rt controller.Runtime, id string, j job) {
	if w.running == nil {
		w.running = map[string]*worker{}
	}

	own, stop := context.WithCancel(ctx)
	run := j.begin()

	changed := func() {
		if own.Err() == nil {
			rt.QueueReconcile()
		}
	}

	w.running[id] = &worker{j.version, stop, guard.GoThen(func() error {
		return run(own, func(err error) {
			if w.note(id, err) {
				changed()
			}
		})
	}, changed)}
}

// note records why a job cannot be done, and reports whether that is new.
func (w *workers) note(id string, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	old, now := w.causes[id], ""
	if err != nil {
		now = steady(err)
	}

	if w.causes == nil {
		w.causes = map[string]string{}
	}

	if w.causes[id] = now; now == "" {
		delete(w.causes, id)
	}

	return old != now
}

// localAddress is how errors of connections name the local side: 10.5.0.2:43124->10.5.0.1:53.
var localAddress = regexp.MustCompile(`\S+:\d+->`)

// steady returns the text of an error without the local port of a connection, which is another one at each attempt.
func steady(err error) string { return localAddress.ReplaceAllString(err.Error(), "") }

func (w *workers) show(ctx context.Context, rt controller.Runtime) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	for id, cause := range w.causes {
		if err := typed.Set(ctx, rt, "", id, runtime.SettingConditionSpec{Cause: cause}); err != nil {
			return err
		}
	}

	return nil
}
