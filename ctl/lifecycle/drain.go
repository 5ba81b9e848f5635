// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/kube"
)

// undoTimeout is how long it may take to let pods come to a node again that was not drained.
const undoTimeout = 30 * time.Second

// draining holds the flags of the commands that can have a node's pods move elsewhere first.
type draining struct {
	drain   bool
	timeout time.Duration
}

func (d *draining) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&d.drain, "drain", false, "cordon each node and evict its pods first, one node after the other; implies --wait")
	cmd.Flags().DurationVar(&d.timeout, "drain-timeout", 5*time.Minute, "with --drain: how long the pods of a node may take to move")
}

var errDrainTimeout = errors.New("the time of --drain-timeout is over")

// follow is tracking's follow for a node that goes down and comes back: its pods are evicted before, and it takes pods
// again when Kubernetes knows that it is back. A node that is not taken down after all is left as it was, and so is one
// that had been cordoned before.
func (d *draining) follow(ctx context.Context, n session.Node, t *tracking, cluster *kube.Client, begin beginner, done waiter) error {
	name, err := nodenameOf(ctx, n)
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}

	before, err := cluster.Node(ctx, name)
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}

	say := func(text string) { t.out.Print(n.Name, text) } // it is done all the same

	schedulable := func(context.Context) error { return nil }

	if !before.Spec.Unschedulable {
		if err := cluster.SetSchedulable(ctx, name, false); err != nil {
			return fmt.Errorf("drain: %w", err)
		}

		schedulable = func(ctx context.Context) error { return cluster.SetSchedulable(ctx, name, true) }

		say("cordoned node " + name)
	}

	begun := false

	err = d.evict(ctx, cluster, name, say)
	if err == nil {
		err = t.follow(ctx, n, func(n session.Node, ctx context.Context) (string, error) {
			actor, err := begin(n, ctx)
			begun = err == nil

			return actor, err
		}, func(ctx context.Context, n session.Node, boot boot, say func(string)) error {
			if err := done(ctx, n, boot, say); err != nil {
				return err
			}

			return until(ctx, "for Kubernetes to have the node back", func() (bool, error) {
				now, err := cluster.Node(ctx, name)

				switch {
				case err != nil:
					return false, err
				case now.Status.NodeInfo.BootID == before.Status.NodeInfo.BootID:
					return false, fmt.Errorf("node %s has not reported since", name)
				}

				if err := now.Ready(); err != nil {
					return false, err
				}

				if err := schedulable(ctx); err != nil {
					return false, err
				}

				say("node " + name + " is ready")

				return true, nil
			})
		})
	}

	if err == nil || begun {
		return err
	}

	// The command may have been ended, which must not leave the node cordoned.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()

	if failed := schedulable(undo); failed != nil {
		return errors.Join(err, fmt.Errorf("uncordon: %w", failed))
	}

	return err
}

func (d *draining) evict(ctx context.Context, cluster *kube.Client, name string, say func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, errDrainTimeout)
	defer cancel()

	if err := cluster.Drain(ctx, name, say); err != nil {
		return fmt.Errorf("drain: %w", err)
	}

	return nil
}

// nodename is the node's name in Kubernetes.
func nodenameOf(ctx context.Context, n session.Node) (string, error) {
	r, err := n.Resource(ctx, client.Kind{Namespace: "k8s", Type: "Nodenames.kubernetes.talos.dev"}, "nodename")
	if err != nil {
		return "", fmt.Errorf("name of the node in Kubernetes: %w", err)
	}

	spec, err := session.DecodeSpec[struct {
		Nodename string `yaml:"nodename"`
	}](r)

	return spec.Nodename, err
}
