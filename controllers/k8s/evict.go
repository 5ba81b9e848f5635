// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
)

const (
	// cordonTime is how long the Node may take to be unschedulable: what leaves it would come back.
	cordonTime = 15 * time.Second
	// evictInterval is how often it is looked at what has left.
	evictInterval = 500 * time.Millisecond
)

// leaves reports whether a pod finds its place elsewhere: its controller creates another one. Those of a DaemonSet and static ones belong
// to the node, and a pod without a controller is not created again after it is deleted; the kubelet ends these.
func leaves(p *kube.Pod) bool {
	controller := p.Controller()

	return !p.Static() && !p.Ended() && controller != "" && controller != "DaemonSet"
}

// Evict has the pods of this node leave that find a place elsewhere, and returns when they have, or the context ends. Services
// send nothing to them from then on, while they have their grace period: the kubelet alone would let them be asked until they
// have ended. A pod that a PodDisruptionBudget keeps stays. It is for a node that is being cordoned, since it goes down.
func Evict(ctx context.Context, r state.Reader, root string) error {
	var nodename k8s.NodenameSpec

	if f := typed.Read(ctx, r, k8s.NodenameID, &nodename); f.Err != nil || !f.OK || nodename.SkipNodeRegistration {
		return f.Err
	}

	client, err := nodeClient(ctx, r, root)
	if err != nil || client == nil {
		return err
	}
	defer client.Close()

	if err := evict(ctx, client, nodename.Nodename); err != nil {
		return fmt.Errorf("evict the pods of node %s: %w", nodename.Nodename, err)
	}

	return nil
}

func evict(ctx context.Context, client *kube.Client, node string) error {
	if err := untilCordoned(ctx, client, node); err != nil {
		return err
	}

	all, err := client.Pods(ctx, node)
	if err != nil {
		return err
	}

	var asking guard.Group

	evicted := make(chan string, len(all))

	for _, p := range all {
		if !leaves(&p) {
			continue
		}

		asking.Go(func() error {
			err := client.Evict(ctx, &p)

			switch {
			case err == nil:
				evicted <- p.Metadata.UID
			case !kube.IsNotFound(err) && !kube.IsConflict(err): // those have gone already
				return fmt.Errorf("pod %s: %w", &p, err)
			}

			return nil
		})
	}

	err = asking.Wait()

	close(evicted)

	gone := map[string]bool{}
	for uid := range evicted {
		gone[uid] = true
	}

	return errors.Join(err, untilGone(ctx, client, node, gone))
}

// untilCordoned waits until the Node is unschedulable; that is another controller's work.
func untilCordoned(ctx context.Context, client *kube.Client, node string) error {
	ctx, cancel := context.WithTimeout(ctx, cordonTime)
	defer cancel()

	for {
		got, err := client.Node(ctx, node)
		if err != nil {
			return err
		}

		if got.Spec.Unschedulable {
			return nil
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until it is cordoned: %w", ctx.Err())
		case <-time.After(evictInterval / 2):
		}
	}
}

// untilGone waits until the pods of these ids have left.
func untilGone(ctx context.Context, client *kube.Client, node string, ids map[string]bool) error {
	for len(ids) > 0 {
		all, err := client.Pods(ctx, node)
		if err != nil {
			return err
		}

		var left []string

		for _, p := range all {
			if ids[p.Metadata.UID] {
				left = append(left, p.String())
			}
		}

		if len(left) == 0 {
			return nil
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", strings.Join(left, ", "), ctx.Err())
		case <-time.After(evictInterval):
		}
	}

	return nil
}
