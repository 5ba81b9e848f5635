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
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// target is what of the API server is followed, and as whom.
type target struct {
	// key changes when the connection must be made anew.
	key    string
	config kubeconfig.Config
	path   string
	// selector of fields.
	selector string
	// keep is the part of an object that is looked at; what changes in the rest is no change. Nil is all of it.
	keep func(kube.Object) kube.Object
}

// follower is a controller that keeps resources in line with a collection of the API server. The contents are a current
// value: a slow reader gets the latest.
type follower struct {
	name    string
	inputs  []controller.Input
	outputs []controller.Output
	// connect chooses what is followed; nil until its inputs exist.
	connect func(ctx context.Context, rt controller.Runtime) (*target, error)
	// apply gets the whole contents after each change. It is called with nil when there is nothing to follow any more.
	apply func(ctx context.Context, rt controller.Runtime, objects []kube.Object) error
}

// Name implements controller.Controller.
func (f *follower) Name() string { return f.name }

// Inputs implements controller.Controller.
func (f *follower) Inputs() []controller.Input { return f.inputs }

// Outputs implements controller.Controller.
func (f *follower) Outputs() []controller.Output { return f.outputs }

// Run implements controller.Controller.
func (f *follower) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		key    string
		latest = make(chan []kube.Object, 1)
		stop   = func() {}
	)

	defer func() { stop() }()

	for {
		select {
		case <-ctx.Done():
			return nil
		case objects := <-latest:
			if err := f.apply(ctx, rt, objects); err != nil {
				return err
			}
		case <-rt.Events():
			to, err := f.connect(ctx, rt)
			if err != nil {
				return err
			}

			if to == nil {
				stop()

				key = ""

				if err := f.apply(ctx, rt, nil); err != nil {
					return err
				}
			} else if to.key != key {
				stop()

				key = to.key
				latest = make(chan []kube.Object, 1)
				stop = follow(ctx, *to, latest, log)
			}
		}

		rt.ResetRestartBackoff()
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

			log.Log(ctx, level, "the watch of the API server ended, it begins anew", "error", err, "after", delay)

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

		if to.keep != nil && event.Object != nil {
			event.Object = to.keep(event.Object)
		}

		switch event.Type {
		case "":
			listed = true
		case "DELETED":
			delete(contents, namespace+"/"+name)
		default:
			if listed && reflect.DeepEqual(contents[namespace+"/"+name], event.Object) {
				return nil
			}

			contents[namespace+"/"+name] = event.Object
		}

		if !listed {
			return nil
		}

		objects := make([]kube.Object, 0, len(contents))
		for _, id := range slices.Sorted(maps.Keys(contents)) {
			objects = append(objects, contents[id])
		}

		select {
		case <-latest: // what nobody has read yet is old
		default:
		}

		latest <- objects

		return nil
	})
}
