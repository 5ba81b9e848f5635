// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"net/url"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// KubernetesAPI is the API of a real API server.
type KubernetesAPI struct {
	// Get decodes the object at a path into a value, and reports whether it exists. The case of field names does not matter.
	Get func(ctx context.Context, path string, into any) (found bool, err error)
}

type (
	condition struct{ Type, Status, Message string }

	nodeList struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Spec   struct{ Unschedulable bool }
			Status struct {
				Conditions []condition
				Addresses  []struct{ Type, Address string }
			}
		}
	}

	podList struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NodeName string }
			Status   struct {
				Phase      string
				Conditions []condition
			}
		}
	}

	workload struct {
		Metadata struct{ Generation int64 }
		Spec     struct{ Replicas *int }
		Status   struct {
			ObservedGeneration     int64
			DesiredNumberScheduled int // of a DaemonSet
			NumberReady            int // of a DaemonSet
			ReadyReplicas          int // of a Deployment
		}
	}
)

// Nodes implements Kubernetes.
func (k KubernetesAPI) Nodes(ctx context.Context) ([]Node, error) {
	var list nodeList
	if _, err := k.Get(ctx, "/api/v1/nodes", &list); err != nil {
		return nil, err
	}

	var nodes []Node

	for _, item := range list.Items {
		n := Node{Name: item.Metadata.Name, Unschedulable: item.Spec.Unschedulable, Reason: "the kubelet has not reported yet"}
		_, n.ControlPlane = item.Metadata.Labels[controlPlaneLabel]

		for _, a := range item.Status.Addresses {
			n.Addresses = append(n.Addresses, a.Address)
		}

		n.Ready, n.Reason = ready(item.Status.Conditions, n.Reason)
		nodes = append(nodes, n)
	}

	return nodes, nil
}

// Pods implements Kubernetes.
func (k KubernetesAPI) Pods(ctx context.Context, app string) ([]Pod, error) {
	var list podList
	if _, err := k.Get(ctx, "/api/v1/namespaces/kube-system/pods?labelSelector="+url.QueryEscape("k8s-app="+app), &list); err != nil {
		return nil, err
	}

	var pods []Pod

	for _, item := range list.Items {
		p := Pod{Name: item.Metadata.Name, Node: item.Spec.NodeName, Phase: item.Status.Phase}
		p.Ready, _ = ready(item.Status.Conditions, "")
		pods = append(pods, p)
	}

	return pods, nil
}

// Workload implements Kubernetes.
func (k KubernetesAPI) Workload(ctx context.Context, kind, name string) (*Workload, error) {
	var w workload

	found, err := k.Get(ctx, "/apis/apps/v1/namespaces/kube-system/"+kind+"/"+name, &w)
	if err != nil || !found {
		return nil, err
	}

	out := &Workload{Wanted: w.Status.DesiredNumberScheduled, Ready: w.Status.NumberReady + w.Status.ReadyReplicas}
	if w.Spec.Replicas != nil {
		out.Wanted = *w.Spec.Replicas
	}

	// The counts are of an earlier generation.
	if w.Status.ObservedGeneration < w.Metadata.Generation {
		out.Ready = 0
	}

	return out, nil
}

// ready returns the status and message of the condition Ready; false and reason if there is none.
func ready(conditions []condition, reason string) (bool, string) {
	for _, c := range conditions {
		if c.Type == "Ready" {
			return c.Status == "True", c.Message
		}
	}

	return false, reason
}
