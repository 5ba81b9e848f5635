// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// target is a collection of the API server, and the credentials with which it is followed.
type target struct {
	// key changes when a new connection is needed.
	key    string
	config kubeconfig.Config
	path   string
	// selector of fields.
	selector string
	// keep returns the part of an object that is followed; changes of the rest are ignored. Without keep it is the whole object. An object for
	// which it returns nil is ignored.
	keep func(kube.Object) kube.Object
	// most is the largest number of objects that are kept, for a collection in which clients create any number; zero means no limit.
	most int
}

// follower is a controller that updates resources from a collection of the API server. The contents are a current value: a slow reader gets
// the latest.
type follower struct {
	name   string
	inputs []controller.Input
	// output and its kind are empty for a controller that only writes to Kubernetes.
	output controller.Output
	kind   resource.Kind
	// connect chooses what is followed; nil until its inputs exist.
	connect func(ctx context.Context, rt controller.Runtime) (*target, error)
	// apply gets the whole contents after each change. It is called with nil when there is nothing to follow any more. Outputs that it does
	// not write are destroyed, unless it returns controller.ErrSkip.
	apply func(ctx context.Context, rt controller.Runtime, objects []kube.Object) error
	// again calls apply, with the last contents, also when an input changes.
	again bool
}

// following returns a follower that writes resources of type Out.
func following[Out resource.Spec](kind controller.OutputKind, f follower) controller.Controller {
	f.kind = resource.KindOf[Out]("")
	f.output = controller.Out[Out](kind, f.kind.Namespace)

	return &f
}

// Name implements controller.Controller.
func (f *follower) Name() string { return f.name }

// Inputs implements controller.Controller.
func (f *follower) Inputs() []controller.Input { return f.inputs }

// Outputs implements controller.Controller.
func (f *follower) Outputs() []controller.Output {
	if f.kind == (resource.Kind{}) {
		return nil
	}

	return []controller.Output{f.output}
}

// Run implements controller.Controller.
func (f *follower) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		key    string
		latest = make(chan []kube.Object, 1)
		stop   = func() {}
		last   []kube.Object // nil before the first
	)

	defer func() { stop() }()

	for {
		select {
		case <-ctx.Done():
			return nil
		case last = <-latest:
			if err := f.round(ctx, rt, last); err != nil {
				return err
			}
		case <-rt.Events():
			to, err := f.connect(ctx, rt)
			if err != nil {
				return err
			}

			if to == nil {
				stop()

				key, last = "", nil
				latest = make(chan []kube.Object, 1) // what was not read yet has ended too

				if err := f.round(ctx, rt, nil); err != nil {
					return err
				}
			} else if to.key != key {
				stop()

				key, last = to.key, nil
				latest = make(chan []kube.Object, 1)
				stop = follow(ctx, *to, latest, log)
			} else if f.again && last != nil {
				if err := f.round(ctx, rt, last); err != nil {
					return err
				}
			}
		}

		rt.ResetRestartBackoff()
	}
}

func (f *follower) round(ctx context.Context, rt controller.Runtime, objects []kube.Object) error {
	rt.StartTrackingOutputs()

	switch err := f.apply(ctx, rt, objects); {
	case errors.Is(err, controller.ErrSkip):
		return nil
	case err != nil || f.kind == (resource.Kind{}):
		return err
	default:
		return rt.CleanupOutputs(ctx, f.kind)
	}
}

// follow watches until it is stopped; stop returns when the watch has ended.
func follow(ctx context.Context, to target, latest chan []kube.Object, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)

	done := guard.Go(func() error {
		const longest = 5 * time.Second

		for delay := time.Second; ctx.Err() == nil; {
			err := guard.Call(func() error { return watchOnce(ctx, to, latest) })
			if err == nil {
				delay = time.Second

				continue
			}

			level := slog.LevelDebug
			if panicked := (*guard.Panic)(nil); errors.As(err, &panicked) {
				level = slog.LevelError
			}

			log.Log(ctx, level, "the watch of the API server ended, it starts again", "error", err, "after", delay)

			select {
			case <-ctx.Done():
			case <-time.After(delay):
				delay = min(2*delay, longest)
			}
		}

		return nil
	})

	return func() { cancel(); <-done }
}

func watchOnce(ctx context.Context, to target, latest chan []kube.Object) error {
	client, err := kube.New(to.config)
	if err != nil {
		return err
	}
	defer client.Close()

	contents, listed := map[string]kube.Object{}, false

	return client.Watch(ctx, to.path, to.selector, func(event kube.Event) error {
		_, _, namespace, name := kube.Identity(event.Object)
		id := namespace + "/" + name
		before, known := contents[id]

		if to.keep != nil && event.Object != nil {
			event.Object = to.keep(event.Object)
		}

		switch {
		case event.Type == "":
			listed = true
		case event.Type == "DELETED" || event.Object == nil:
			if listed && !known {
				return nil
			}

			delete(contents, id)
		case !known && to.most > 0 && len(contents) >= to.most:
			return nil // it is seen when the list is read again
		default:
			if listed && reflect.DeepEqual(before, event.Object) {
				return nil
			}

			contents[id] = event.Object
		}

		if !listed {
			return nil
		}

		objects := make([]kube.Object, 0, len(contents))
		for _, id := range slices.Sorted(maps.Keys(contents)) {
			objects = append(objects, contents[id])
		}

		select {
		case <-latest: // a value that was not read is outdated
		default:
		}

		latest <- objects

		return nil
	})
}
