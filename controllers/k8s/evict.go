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
	// cordonTime is the timeout for the Node to become unschedulable: before, evicted pods would come back.
	cordonTime = 15 * time.Second
	// evictInterval is the interval at which the remaining pods are listed.
	evictInterval = 500 * time.Millisecond
)

// leaves reports whether a pod moves to another node, where its controller creates it again. Static pods and those of a DaemonSet belong to
// the node, and a pod without a controller is not created again; the kubelet ends these.
func leaves(p *kube.Pod) bool {
	controller := p.Controller()

	return !p.Static() && !p.Ended() && controller != "" && controller != "DaemonSet"
}

// Evict evicts the pods of this node that move to other nodes, and returns when they have left, or the context ends. From the eviction on
// Services send them nothing, while they have their grace period; without an eviction Services send them requests until they have ended. A
// pod that a PodDisruptionBudget protects stays. Evict is for a node that goes down, and so is being cordoned.
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
			case !kube.IsNotFound(err) && !kube.IsConflict(err): // these have left already
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

// untilCordoned waits until another controller has made the Node unschedulable.
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

// untilGone waits until the pods with these UIDs have left.
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
