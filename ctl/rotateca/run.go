// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/pki"
)

const (
	// atOnce is how many workers are changed at the same time.
	atOnce = 5
	// tries is how often a node's configuration is read again because someone else changed it.
	tries = 3
)

// run is one run of the command.
type run struct {
	kinds                  []kind
	controlPlanes, workers []string
	revert, dryRun         bool
	// endpoint is the way to the API servers; empty for that of the kubeconfig or the configuration.
	endpoint string
	// settle is how long pods and API servers have time to read the new authority of Kubernetes.
	settle, timeout time.Duration
	// output is the file for the new talosconfig, name that of its context.
	output, name string
	say          func(format string, args ...any)

	cluster   *cluster
	rotations []*rotation
	admin     pki.Pair // of the new authority of the machines' API
}

// snapshot is what the nodes' configurations say at a moment.
type snapshot struct {
	hosts   []host
	configs []*view.Config
	members map[kind][]member
}

// look reads the configurations of all nodes.
func (r *run) look(ctx context.Context) (snapshot, error) {
	s := snapshot{hosts: r.cluster.hosts, members: map[kind][]member{}}

	for _, h := range r.cluster.hosts {
		ctx, cancel := context.WithTimeout(ctx, attempt)
		cfg, _, err := r.cluster.read(ctx, h)

		cancel()

		if err != nil {
			return s, fmt.Errorf("node %s: %w", h.name, err)
		}

		s.configs = append(s.configs, cfg)

		for _, k := range r.kinds {
			m, err := memberOf(k, h, cfg)
			if err != nil {
				return s, err
			}

			s.members[k] = append(s.members[k], m)
		}
	}

	return s, nil
}

func memberOf(k kind, h host, cfg *view.Config) (member, error) {
	t, err := trustOf(k, cfg)
	if err != nil {
		return member{}, fmt.Errorf("node %s: %w", h.name, err)
	}

	return member{h.name, h.controlPlane, t}, nil
}

// do rotates the authorities, or says what it would do.
func (r *run) do(ctx context.Context) error {
	if err := register(); err != nil {
		return err
	}

	if err := r.cluster.discover(ctx, r.controlPlanes, r.workers); err != nil {
		return err
	}

	now, err := r.look(ctx)
	if err != nil {
		return err
	}

	for _, k := range r.kinds {
		rotation, err := plan(k, now.members[k], r.revert)
		if err != nil {
			return err
		}

		r.rotations = append(r.rotations, rotation)
		r.describe(rotation, now.members[k])
	}

	if r.dryRun {
		r.say("This was a dry run: nothing was changed. Rotate with --dry-run=false.")

		return nil
	}

	if err := r.reach(ctx, now); err != nil {
		return err
	}

	for _, step := range steps {
		if err := r.step(ctx, step); err != nil {
			return &session.Unfinished{Err: err, Left: "nothing is lost: " + r.resume()}
		}
	}

	r.finish()

	return nil
}

// resume says how an interrupted rotation goes on. In the last step nodes refuse the former talosconfig, one after the other.
func (r *run) resume() string {
	const text = "the same command continues%s, and --revert goes back as long as a control plane node issues with the old authority"

	if len(r.admin.Crt) == 0 {
		return fmt.Sprintf(text, "")
	}

	return fmt.Sprintf(text, fmt.Sprintf(" with --talosconfig %s --context %s", r.output, r.name))
}

// step brings all nodes at least to a level.
func (r *run) step(ctx context.Context, step level) error {
	now, err := r.look(ctx)
	if err != nil {
		return err
	}

	if beyond, err := r.beyond(now, step); err != nil || beyond {
		return err
	}

	r.say("step %d of %d: every node %s", step, len(steps), step)

	apis := map[*rotation]*kube.Client{}

	for _, rotation := range r.rotations {
		if rotation.kind != kubernetes {
			continue
		}

		api, _, err := r.api(rotation, now, step-1)
		if err != nil {
			return err
		}
		defer api.Close()

		apis[rotation] = api
	}

	for _, group := range groups(step, now.hosts) {
		if err := r.all(ctx, group, func(ctx context.Context, h host) error { return r.node(ctx, h, step, apis) }); err != nil {
			return err
		}
	}

	return r.after(ctx, step, apis)
}

// beyond reports whether every node is beyond a step, so that there is nothing to do and nothing to wait for.
func (r *run) beyond(now snapshot, step level) (bool, error) {
	for _, rotation := range r.rotations {
		for _, m := range now.members[rotation.kind] {
			if at, err := rotation.level(m); err != nil || at <= step {
				return false, err
			}
		}
	}

	return true, nil
}

// groups returns the nodes of a step in turn: one control plane node after the other, and workers at once.
func groups(step level, hosts []host) [][]host {
	var control, workers [][]host

	for _, h := range hosts {
		switch {
		case h.controlPlane:
			control = append(control, []host{h})
		case len(workers) == 0 || len(workers[len(workers)-1]) == atOnce:
			workers = append(workers, []host{h})
		default:
			workers[len(workers)-1] = append(workers[len(workers)-1], h)
		}
	}

	// Control planes sign for workers. They are the last that forget the old authority: their configuration tells that a rotation is in progress.
	if step == remove {
		return append(workers, control...)
	}

	return append(control, workers...)
}

func (r *run) all(ctx context.Context, hosts []host, do func(context.Context, host) error) error {
	failures := make([]error, len(hosts))

	var wg sync.WaitGroup

	for i, h := range hosts {
		wg.Go(func() { failures[i] = do(ctx, h) })
	}

	wg.Wait()

	return errors.Join(failures...)
}

// node brings one node to a level and waits until it is in effect. A node beyond that level stays as it is.
func (r *run) node(ctx context.Context, h host, step level, apis map[*rotation]*kube.Client) error {
	if err := r.change(ctx, h, step); err != nil {
		return fmt.Errorf("node %s: %w", h.name, err)
	}

	began := time.Now()

	err := r.wait(ctx, "node "+h.name, func(ctx context.Context) error {
		cfg, _, err := r.cluster.read(ctx, h)
		if err != nil {
			return err
		}

		for _, rotation := range r.rotations {
			m, err := memberOf(rotation.kind, h, cfg)
			if err != nil {
				return err
			}

			if rotation.kind == kubernetes {
				err = checkKubernetes(ctx, r.cluster.reader(h.name), apis[rotation], m)
			} else {
				err = checkMachine(ctx, r.cluster.reader(h.name), m)
			}

			if err != nil {
				return fmt.Errorf("%s: %w", rotation.kind, err)
			}
		}

		return nil
	})
	if err == nil {
		r.say("  node %s: in effect after %.1fs", h.name, time.Since(began).Seconds())
	}

	return err
}

// change changes the configuration of a node that is behind a step.
func (r *run) change(ctx context.Context, h host, step level) error {
	for try := 1; ; try++ {
		cfg, text, err := r.cluster.read(ctx, h)
		if err != nil {
			return err
		}

		next := text

		for _, rotation := range r.rotations {
			m, err := memberOf(rotation.kind, h, cfg)
			if err != nil {
				return err
			}

			at, err := rotation.level(m)
			if err != nil {
				return err
			}

			if at >= step {
				continue
			}

			if at != step-1 {
				return fmt.Errorf("%s: the node %s, so it cannot be the next step: has it joined in the meantime? Run the command again", rotation.kind, at)
			}

			if next, err = edit(rotation.kind, next, rotation.at(step, m)); err != nil {
				return err
			}
		}

		if string(next) == string(text) {
			return nil
		}

		if err := r.cluster.apply(ctx, h, text, next); err == nil || !changed(err) || try == tries {
			return err
		}
	}
}

// after does what a step has to do for the cluster as a whole.
func (r *run) after(ctx context.Context, step level, apis map[*rotation]*kube.Client) error {
	now, err := r.look(ctx)
	if err != nil {
		return err
	}

	for _, rotation := range r.rotations {
		if rotation.kind == machineAPI {
			if step < issue {
				continue
			}

			if err := r.take(ctx, rotation); err != nil {
				return err
			}

			continue
		}

		members := now.members[kubernetes]

		if err := r.wait(ctx, "Kubernetes", func(ctx context.Context) error { return checkPublished(ctx, apis[rotation], members) }); err != nil {
			return err
		}

		api, server, err := r.api(rotation, now, step)
		if err != nil {
			return err
		}
		defer api.Close()

		if err := r.wait(ctx, "Kubernetes at "+server+" with the new authority", func(ctx context.Context) error {
			_, err := api.Nodes(ctx)

			return err
		}); err != nil {
			return err
		}

		if err := r.pause(ctx, rotation, now, step); err != nil {
			return err
		}
	}

	return nil
}

// pause gives API servers and pods the time to read the new authority before it issues.
func (r *run) pause(ctx context.Context, rotation *rotation, now snapshot, step level) error {
	if step != accept || rotation.reverts || r.settle <= 0 {
		return nil
	}

	for _, m := range now.members[rotation.kind] {
		if at, err := rotation.level(m); err != nil || at > accept {
			return err // an earlier run has waited
		}
	}

	r.say("  Kubernetes: giving API servers and pods %s to read the new authority", r.settle)

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.settle):
		return nil
	}
}
