// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeapi"
	"github.com/seed-59268b81/talos/controllers/secrets/kubeconfig"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// KubernetesAPI asks a real API server, as the administrator that this node's state has a kubeconfig of. It is not for
// use by several goroutines.
type KubernetesAPI struct {
	State Reader
	// Endpoint is the API server's URL, by default this node's.
	Endpoint string

	text   string // the kubeconfig of the client
	client *kubeapi.Client
}

func (k *KubernetesAPI) connect(ctx context.Context) (*kubeapi.Client, error) {
	certs, err := typed.Find[secrets.KubernetesCertsSpec](ctx, k.State, "", secrets.KubernetesID)
	if err != nil {
		return nil, err
	}

	if certs == nil {
		return nil, errors.New("the certificates for Kubernetes are not made yet")
	}

	text := certs.TypedSpec().LocalhostAdminKubeconfig
	if k.client != nil && k.text == text {
		return k.client, nil
	}

	config, err := kubeconfig.Parse([]byte(text))
	if err != nil {
		return nil, err
	}

	if k.Endpoint != "" {
		config.Server = k.Endpoint
	}

	k.Close()

	if k.client, err = kubeapi.New(config); err != nil {
		return nil, err
	}

	k.text = text

	return k.client, nil
}

// Close drops the connection.
func (k *KubernetesAPI) Close() {
	if k.client != nil {
		k.client.Close()
		k.client = nil
	}
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
func (k *KubernetesAPI) Nodes(ctx context.Context) ([]Node, error) {
	var list nodeList
	if err := k.read(ctx, "/api/v1/nodes", &list); err != nil {
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
func (k *KubernetesAPI) Pods(ctx context.Context, app string) ([]Pod, error) {
	var list podList
	if err := k.read(ctx, "/api/v1/namespaces/kube-system/pods?labelSelector="+url.QueryEscape("k8s-app="+app), &list); err != nil {
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
func (k *KubernetesAPI) Workload(ctx context.Context, kind, name string) (*Workload, error) {
	var w workload

	err := k.read(ctx, "/apis/apps/v1/namespaces/kube-system/"+kind+"/"+name, &w)
	if kubeapi.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}

	if err != nil {
		return nil, err
	}

	out := &Workload{Wanted: w.Status.DesiredNumberScheduled, Ready: w.Status.NumberReady + w.Status.ReadyReplicas}
	if w.Spec.Replicas != nil {
		out.Wanted = *w.Spec.Replicas
	}

	// The counts of an earlier generation say nothing about this one.
	if w.Status.ObservedGeneration < w.Metadata.Generation {
		out.Ready = 0
	}

	return out, nil
}

// read gets an object; what of it is wanted has the names of the API, whose case does not matter here.
func (k *KubernetesAPI) read(ctx context.Context, path string, into any) error {
	client, err := k.connect(ctx)
	if err != nil {
		return err
	}

	object, err := client.Get(ctx, path)
	if err != nil {
		return err
	}

	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, into)
	}

	if err != nil {
		return fmt.Errorf("answer to GET %s: %w", path, err)
	}

	return nil
}

// ready reads the condition of that name; reason is what to say when there is none.
func ready(conditions []condition, reason string) (bool, string) {
	for _, c := range conditions {
		if c.Type == "Ready" {
			return c.Status == "True", c.Message
		}
	}

	return false, reason
}
