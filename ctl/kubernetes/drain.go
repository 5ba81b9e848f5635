// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// drainInterval is how often the pods of a node that is drained are looked at, and those that must stay for now are
// asked to go again.
const drainInterval = 2 * time.Second

// mirrorAnnotation is on what stands for a static pod, which only its node can end.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// pods is what is looked at of a list of pods.
type pods struct {
	Items []pod `json:"items"`
}

type pod struct {
	Metadata struct {
		Namespace       string            `json:"namespace"`
		Name            string            `json:"name"`
		UID             string            `json:"uid"`
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []struct {
			Kind       string `json:"kind"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
}

func (p *pod) String() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

// stays tells that the pod belongs to its node: a static one, or one of a DaemonSet, which would make it anew.
func (p *pod) stays() bool {
	if _, mirror := p.Metadata.Annotations[mirrorAnnotation]; mirror {
		return true
	}

	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Controller && owner.Kind == "DaemonSet" {
			return true
		}
	}

	return false
}

// Drain evicts the pods of a node, as kubectl drain --ignore-daemonsets --delete-emptydir-data --force does, and returns
// when they are gone; say is told of each that goes. Pods that come to the node meanwhile are left alone. Budgets
// (PodDisruptionBudget) are kept to: while one is in the way, the pod is asked again. When the context ends first, the
// error names the pods that are left and what kept them.
func (c *Client) Drain(ctx context.Context, node string, say func(string)) error {
	left, err := c.podsToMove(ctx, node)
	if err != nil {
		return err
	}

	kept := map[string]error{} // by the pod's UID: why it is there yet

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

		// What cannot be looked at now is there yet, for all we know.
		if now, err := c.podsToMove(ctx, node); err == nil {
			left = slices.DeleteFunc(left, func(p pod) bool {
				return !slices.ContainsFunc(now, func(q pod) bool { return p.Metadata.UID == q.Metadata.UID })
			})
		}
	}
}

// errEnding is why a pod is there yet which was evicted.
var errEnding = errors.New("it was evicted and has not ended yet")

// evictAll asks the pods to go that were not asked, or had to stay when they were.
func (c *Client) evictAll(ctx context.Context, left []pod, kept map[string]error, say func(string)) error {
	for _, p := range left {
		if kept[p.Metadata.UID] == errEnding { // its own value, never wrapped
			continue
		}

		err := c.evict(ctx, p)

		switch code := statusOf(err); {
		case err == nil:
			say("evicting pod " + p.String())

			err = errEnding
		// It has gone, and another may have its name.
		case code == http.StatusNotFound, code == http.StatusConflict:
			err = errEnding
		// A budget, or a server that is not well: it may go better the next time.
		case code == 0, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		default:
			return fmt.Errorf("evict pod %s: %w", &p, err)
		}

		kept[p.Metadata.UID] = err
	}

	return nil
}

func (c *Client) evict(ctx context.Context, p pod) error {
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", url.PathEscape(p.Metadata.Namespace), url.PathEscape(p.Metadata.Name))

	return c.do(ctx, http.MethodPost, path, "application/json", map[string]any{
		"apiVersion": "policy/v1",
		"kind":       "Eviction",
		"metadata":   map[string]any{"namespace": p.Metadata.Namespace, "name": p.Metadata.Name},
		// Not another pod that has taken the name since.
		"deleteOptions": map[string]any{"preconditions": map[string]any{"uid": p.Metadata.UID}},
	}, nil)
}

// podsToMove are the pods of a node that do not belong to it.
func (c *Client) podsToMove(ctx context.Context, node string) ([]pod, error) {
	var list pods

	query := url.Values{"fieldSelector": {"spec.nodeName=" + node}}

	if err := c.do(ctx, http.MethodGet, "/api/v1/pods?"+query.Encode(), "", nil, &list); err != nil {
		return nil, fmt.Errorf("list the pods of Kubernetes node %s: %w", node, err)
	}

	return slices.DeleteFunc(list.Items, func(p pod) bool { return p.stays() }), nil
}

// remaining tells which pods are left, and why each.
func remaining(cause error, left []pod, kept map[string]error) error {
	var text []string
	for _, p := range left {
		text = append(text, fmt.Sprintf("pod %s: %v", &p, kept[p.Metadata.UID]))
	}

	return fmt.Errorf("%w with pods left: %s", cause, strings.Join(text, "; "))
}
