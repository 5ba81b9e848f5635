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

// undoTimeout is the timeout to uncordon a node after a failed drain.
const undoTimeout = 30 * time.Second

// draining holds the flags of commands that can drain a node first.
type draining struct {
	drain   bool
	timeout time.Duration
}

func (d *draining) flags(cmd *cobra.Command, usual bool) {
	cmd.Flags().BoolVar(&d.drain, "drain", usual, "cordon each node and evict its pods first, one node after the other; implies --wait")
	cmd.Flags().DurationVar(&d.timeout, "drain-timeout", 5*time.Minute, "with --drain: timeout of the eviction of a node's pods")
}

var errDrainTimeout = errors.New("timed out (--drain-timeout)")

// follow drains the node, follows it like tracking.follow, and uncordons it when Kubernetes reports that it is back. A node that is
// not taken down is uncordoned too. A node that was cordoned before stays cordoned.
func (d *draining) follow(ctx context.Context, n session.Node, t *tracking, cluster *kube.Client, begin beginner, done waiter) error {
	name, err := nodenameOf(ctx, n)
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}

	before, err := cluster.Node(ctx, name)
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}

	say := func(text string) { t.out.Print(n.Name, text) } // a failure to print does not stop the drain

	schedulable := func(context.Context) error { return nil }
	left := func(err error) error { return err }

	if !before.Spec.Unschedulable {
		if err := cluster.SetSchedulable(ctx, name, false); err != nil {
			return fmt.Errorf("drain: %w", err)
		}

		schedulable = func(ctx context.Context) error { return cluster.SetSchedulable(ctx, name, true) }
		left = func(err error) error {
			return &session.Unfinished{Err: err, Left: fmt.Sprintf("node %s is still cordoned: when it is back, run kubectl uncordon %s", name, name)}
		}

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

			return until(ctx, "for the node to be ready in Kubernetes", func() (bool, error) {
				now, err := cluster.Node(ctx, name)

				switch {
				case err != nil:
					return false, err
				case now.Status.NodeInfo.BootID == before.Status.NodeInfo.BootID:
					return false, fmt.Errorf("node %s has not reported its new boot", name)
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

	switch {
	case err == nil:
		return nil
	case begun:
		return left(err)
	}

	// Uncordon the node even if the command was interrupted.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()

	if failed := schedulable(undo); failed != nil {
		return left(fmt.Errorf("%w; uncordon: %w", err, failed))
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

// nodenameOf returns the node's name in Kubernetes.
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
