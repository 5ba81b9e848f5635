// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// nodeStatusController follows the own Node, with the kubelet's credentials.
func nodeStatusController(root string) controller.Controller {
	return following[k8s.NodeStatusSpec](controller.Exclusive, follower{
		name: "k8s.NodeStatusController",
		inputs: []controller.Input{
			controller.In[k8s.NodenameSpec](controller.Weak, "", k8s.NodenameID),
			controller.In[k8s.KubeletKubeconfigSpec](controller.Weak, "", k8s.KubeletID),
		},
		connect: func(ctx context.Context, rt controller.Runtime) (*target, error) {
			var (
				nodename k8s.NodenameSpec
				identity k8s.KubeletKubeconfigSpec
			)

			ok, err := typed.All(typed.Read(ctx, rt, k8s.NodenameID, &nodename), typed.Read(ctx, rt, k8s.KubeletID, &identity))
			if err != nil || !ok || nodename.SkipNodeRegistration {
				return nil, err
			}

			config, err := kubeletIdentity(filepath.Join(root, kubelet.KubeconfigFile))
			if err != nil {
				return nil, err
			}

			return &target{
				key: nodename.Nodename + "/" + identity.Hash, config: config,
				path: "/api/v1/nodes", selector: "metadata.name=" + nodename.Nodename,
			}, nil
		},
		apply: func(ctx context.Context, rt controller.Runtime, nodes []kube.Object) error {
			for _, node := range nodes {
				spec := nodeStatus(node)

				if err := typed.Set(ctx, rt, "", spec.Nodename, spec); err != nil {
					return err
				}
			}

			return nil
		},
	})
}

// nodeStatus reads a Node.
func nodeStatus(node kube.Object) k8s.NodeStatusSpec {
	out := k8s.NodeStatusSpec{
		Nodename: kube.At[string](node, "metadata", "name"), NodeReady: ready(kube.At[kube.Object](node, "status")),
		Unschedulable: kube.At[bool](node, "spec", "unschedulable"),
		Labels:        stringMap(kube.At[kube.Object](node, "metadata", "labels")),
		Annotations:   stringMap(kube.At[kube.Object](node, "metadata", "annotations")),
	}

	for _, item := range kube.At[[]any](node, "spec", "podCIDRs") {
		text, _ := item.(string)
		if prefix, err := netip.ParsePrefix(text); err == nil {
			out.PodCIDRs = append(out.PodCIDRs, prefix)
		}
	}

	return out
}

// ready reports whether the status of a Node or a pod has the condition Ready.
func ready(status kube.Object) bool {
	return slices.ContainsFunc(kube.Items(status, "conditions"), func(condition kube.Object) bool {
		return condition["type"] == "Ready" && condition["status"] == "True"
	})
}

func stringMap(in kube.Object) map[string]string {
	if len(in) == 0 {
		return nil
	}

	out := make(map[string]string, len(in))

	for key, value := range in {
		out[key], _ = value.(string)
	}

	return out
}
