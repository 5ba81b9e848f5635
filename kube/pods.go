// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// MirrorAnnotation is on a mirror pod, which represents a static pod. Only its node can end it.
const MirrorAnnotation = "kubernetes.io/config.mirror"

// Pod is the part of a pod that is read. The API's names of fields differ only in their case.
type Pod struct {
	Metadata struct {
		Namespace, Name, UID string
		Annotations          map[string]string
		OwnerReferences      []struct {
			Kind       string
			Controller bool
		}
	}
	Status struct{ Phase string }
}

// String names the pod.
func (p *Pod) String() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

// Static reports whether the pod is the mirror pod of a static pod.
func (p *Pod) Static() bool {
	_, static := p.Metadata.Annotations[MirrorAnnotation]

	return static
}

// Ended reports whether its containers have ended and are not started again.
func (p *Pod) Ended() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// Controller returns the kind of the object that recreates the pod when it is deleted; empty for none.
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
	var list struct{ Items []Pod }

	query := url.Values{"fieldSelector": {"spec.nodeName=" + node}}

	if err := c.do(ctx, http.MethodGet, "/api/v1/pods?"+query.Encode(), "", nil, &list); err != nil {
		return nil, fmt.Errorf("list the pods of Kubernetes node %s: %w", node, brief(err))
	}

	return list.Items, nil
}

// Evict requests the eviction of a pod, which a PodDisruptionBudget may refuse. The error is IsNotFound or IsConflict when the pod has left
// already; another pod may have its name then.
func (c *Client) Evict(ctx context.Context, p *Pod) error {
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", url.PathEscape(p.Metadata.Namespace), url.PathEscape(p.Metadata.Name))

	return brief(c.do(ctx, http.MethodPost, path, jsonContent, Object{
		"apiVersion":    "policy/v1",
		"kind":          "Eviction",
		"metadata":      Object{"namespace": p.Metadata.Namespace, "name": p.Metadata.Name},
		"deleteOptions": Object{"preconditions": Object{"uid": p.Metadata.UID}},
	}, nil))
}
