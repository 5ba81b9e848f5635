// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

const (
	// spreadCheck is the interval of looks at the pods of the cluster's DNS.
	spreadCheck = time.Minute
	// spreadRetry is the time between two evictions from one node: the scheduler may have a reason to choose the same node again.
	spreadRetry = time.Hour

	dnsPods      = "/api/v1/namespaces/kube-system/pods?labelSelector="
	dnsSelector  = "k8s-app=kube-dns"
	controlTaint = "node-role.kubernetes.io/control-plane"
)

// dnsSpreadController keeps the pods of CoreDNS from being all on one node. They are created with the cluster, when the first control plane is
// its only node, and Kubernetes moves no pod that runs: with that node the whole cluster would lose its DNS. So one pod is evicted when another
// node could have it. Every control plane finds the same pod, and an eviction names it by its UID, so only one is evicted.
func dnsSpreadController(root string) controller.Controller {
	var (
		known k8s.EndpointSpec
		tried = map[string]time.Time{} // by node
	)

	inputs := frominputs.List{frominputs.Of(k8s.EndpointAPIServerID, &known)}
	for _, in := range accessInputs() {
		inputs = append(inputs, frominputs.Also(in))
	}

	return frominputs.Reconciler("k8s.DNSSpreadController", nil, nil, inputs, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		var machine config.MachineTypeSpec

		if f := typed.Read(ctx, rt, config.MachineTypeID, &machine); f.Err != nil || !machine.MachineType.IsControlPlane() {
			return f.Err
		}

		client, err := nodeClient(ctx, rt, root)
		if err != nil || client == nil {
			return err
		}
		defer client.Close()

		pod, node, err := dnsPodToMove(ctx, client)

		switch {
		case err != nil:
			log.DebugContext(ctx, "the pods of CoreDNS could not be read", "error", err)
		case pod == nil || time.Since(tried[node]) < spreadRetry:
		default:
			tried[node] = time.Now()

			if err := client.Evict(ctx, pod); err != nil && !kube.IsNotFound(err) && !kube.IsConflict(err) {
				log.WarnContext(ctx, "all pods of CoreDNS are on one node, and none could be evicted", "node", node, "error", err)
			} else if err == nil {
				log.InfoContext(ctx, "all pods of CoreDNS were on one node: one was evicted", "node", node, "pod", pod)
			}
		}

		return controller.Requeue(spreadCheck)
	})
}

// dnsPod is the part of a pod of CoreDNS that is read, and dnsNode that of a node.
type (
	dnsPod struct {
		Metadata struct {
			Namespace, Name, UID, DeletionTimestamp string
			OwnerReferences                         []struct {
				Kind       string
				Controller bool
			}
		}
		Spec   struct{ NodeName string }
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	dnsNode struct {
		Metadata struct{ Name string }
		Spec     struct {
			Unschedulable bool
			Taints        []struct{ Key, Effect string }
		}
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
)

// dnsPodToMove reads the pods, and the nodes if need be; nil if no pod has to move.
func dnsPodToMove(ctx context.Context, client *kube.Client) (*kube.Pod, string, error) {
	var (
		pods  struct{ Items []dnsPod }
		nodes struct{ Items []dnsNode }
	)

	if _, err := client.Find(ctx, dnsPods+url.QueryEscape(dnsSelector), &pods); err != nil {
		return nil, "", fmt.Errorf("list the pods of CoreDNS: %w", err)
	}

	from := sharedNode(pods.Items)
	if from == "" {
		return nil, "", nil
	}

	if _, err := client.Find(ctx, "/api/v1/nodes", &nodes); err != nil {
		return nil, "", fmt.Errorf("list the nodes: %w", err)
	}

	if !slices.ContainsFunc(nodes.Items, func(n dnsNode) bool { return n.Metadata.Name != from && n.takes() }) {
		return nil, "", nil
	}

	last := slices.MaxFunc(pods.Items, func(a, b dnsPod) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })

	var pod kube.Pod

	pod.Metadata.Namespace, pod.Metadata.Name, pod.Metadata.UID = last.Metadata.Namespace, last.Metadata.Name, last.Metadata.UID

	return &pod, from, nil
}

// sharedNode returns the node that has all of several pods, if all are ready and a ReplicaSet makes them again; "" otherwise.
func sharedNode(pods []dnsPod) string {
	if len(pods) < 2 {
		return ""
	}

	for _, p := range pods {
		if !isReady(p.Status.Conditions) || p.Metadata.DeletionTimestamp != "" || !p.replaced() || p.Spec.NodeName != pods[0].Spec.NodeName {
			return ""
		}
	}

	return pods[0].Spec.NodeName
}

// replaced reports whether a ReplicaSet makes another pod in place of this one.
func (p *dnsPod) replaced() bool {
	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Controller {
			return owner.Kind == "ReplicaSet"
		}
	}

	return false
}

// takes reports whether a pod of CoreDNS can be scheduled to the node.
func (n *dnsNode) takes() bool {
	if !isReady(n.Status.Conditions) || n.Spec.Unschedulable {
		return false
	}

	return !slices.ContainsFunc(n.Spec.Taints, func(t struct{ Key, Effect string }) bool {
		return t.Effect != "PreferNoSchedule" && t.Key != controlTaint
	})
}

func isReady(conditions []struct{ Type, Status string }) bool {
	return slices.Contains(conditions, struct{ Type, Status string }{"Ready", "True"})
}
