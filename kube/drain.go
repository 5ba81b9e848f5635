// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// drainInterval is the interval at which the pods of a drained node are listed, and refused evictions are tried again.
const drainInterval = 2 * time.Second

// belongs reports whether the pod belongs to its node: a static one, or one of a DaemonSet, which would create it again.
func belongs(p Pod) bool { return p.Static() || p.Controller() == "DaemonSet" }

// Drain evicts the pods of a node, as kubectl drain --ignore-daemonsets --delete-emptydir-data --force does, and returns when they have left.
// It calls say for each evicted pod. Pods that are created on the node during the drain are left alone. An eviction that a
// PodDisruptionBudget refuses is tried again. When the context ends first, the error names the pods that are left, and why.
func (c *Client) Drain(ctx context.Context, node string, say func(string)) error {
	left, err := c.podsToMove(ctx, node)
	if err != nil {
		return err
	}

	kept := map[string]error{} // by the pod's UID: why it has not left

	for {
		if err := c.evictAll(ctx, left, kept, say); err != nil {
			return err
		}

		if len(left) == 0 {
			return nil
		}

		select {
		case <-ctx.Done():
			return remaining(context.Cause(ctx), left, kept)
		case <-time.After(drainInterval):
		}

		// If the pods cannot be listed now, all may still be there.
		if now, err := c.podsToMove(ctx, node); err == nil {
			left = slices.DeleteFunc(left, func(p Pod) bool {
				return !slices.ContainsFunc(now, func(q Pod) bool { return p.Metadata.UID == q.Metadata.UID })
			})
		}
	}
}

// errEnding is why an evicted pod has not left.
var errEnding = errors.New("it was evicted and has not ended yet")

// evictAll evicts the pods whose eviction was not requested yet, or was refused.
func (c *Client) evictAll(ctx context.Context, left []Pod, kept map[string]error, say func(string)) error {
	for _, p := range left {
		if kept[p.Metadata.UID] == errEnding { // never wrapped
			continue
		}

		err := c.Evict(ctx, &p)

		switch code := code(err); {
		case err == nil:
			say("evicting pod " + p.String())

			err = errEnding
		// It has left; another pod may have its name.
		case code == http.StatusNotFound, code == http.StatusConflict:
			err = errEnding
		// A budget, or a failing server: the next try may succeed.
		case code == 0, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		default:
			return fmt.Errorf("evict pod %s: %w", &p, err)
		}

		kept[p.Metadata.UID] = err
	}

	return nil
}

// podsToMove returns the pods of a node that do not belong to it.
func (c *Client) podsToMove(ctx context.Context, node string) ([]Pod, error) {
	all, err := c.Pods(ctx, node)

	return slices.DeleteFunc(all, belongs), err
}

// remaining returns an error that names the pods that are left, and why.
func remaining(cause error, left []Pod, kept map[string]error) error {
	var text []string
	for _, p := range left {
		text = append(text, fmt.Sprintf("pod %s: %v", &p, kept[p.Metadata.UID]))
	}

	return fmt.Errorf("%w with pods left: %s", cause, strings.Join(text, "; "))
}
