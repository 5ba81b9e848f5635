// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// MirrorAnnotation is on what stands for a static pod, which only its node can end.
const MirrorAnnotation = "kubernetes.io/config.mirror"

// Pod is what is looked at of a pod.
type Pod struct {
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
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// String names the pod.
func (p *Pod) String() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

// Static reports whether the pod stands for a static one.
func (p *Pod) Static() bool {
	_, static := p.Metadata.Annotations[MirrorAnnotation]

	return static
}

// Ended reports whether all its containers have ended for good.
func (p *Pod) Ended() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// Controller is the kind of what creates the pod again when it is deleted; empty for none.
func (p *Pod) Controller() string {
	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Controller {
			return owner.Kind
		}
	}

	return ""
}

// Pods lists the pods of a node.
func (c *Client) Pods(ctx context.Context, node string) ([]Pod, error) {
	var list struct {
		Items []Pod `json:"items"`
	}

	query := url.Values{"fieldSelector": {"spec.nodeName=" + node}}

	if err := c.do(ctx, http.MethodGet, "/api/v1/pods?"+query.Encode(), "", nil, &list); err != nil {
		return nil, fmt.Errorf("list the pods of Kubernetes node %s: %w", node, brief(err))
	}

	return list.Items, nil
}

// Evict asks for a pod to be ended, unless a budget (PodDisruptionBudget) keeps it. It is IsNotFound or IsConflict when the pod has gone
// already; another may have its name by then.
func (c *Client) Evict(ctx context.Context, p *Pod) error {
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", url.PathEscape(p.Metadata.Namespace), url.PathEscape(p.Metadata.Name))

	return brief(c.do(ctx, http.MethodPost, path, jsonContent, Object{
		"apiVersion":    "policy/v1",
		"kind":          "Eviction",
		"metadata":      Object{"namespace": p.Metadata.Namespace, "name": p.Metadata.Name},
		"deleteOptions": Object{"preconditions": Object{"uid": p.Metadata.UID}},
	}, nil))
}
