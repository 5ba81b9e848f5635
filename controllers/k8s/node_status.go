// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"net/netip"
	"path/filepath"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// nodeStatusController follows the own Node, as the kubelet.
func nodeStatusController(root string) controller.Controller {
	return &follower{
		name: "k8s.NodeStatusController",
		inputs: []controller.Input{
			controller.In[k8s.NodenameSpec](controller.Weak, "", k8s.NodenameID),
			controller.In[k8s.KubeletKubeconfigSpec](controller.Weak, "", k8s.KubeletID),
		},
		outputs: []controller.Output{controller.Out[k8s.NodeStatusSpec](controller.Exclusive)},
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
			rt.StartTrackingOutputs()

			for _, node := range nodes {
				spec := nodeStatus(node)

				if err := typed.Set(ctx, rt, "", spec.Nodename, spec); err != nil {
					return err
				}
			}

			return rt.CleanupOutputs(ctx, resource.KindOf[k8s.NodeStatusSpec](""))
		},
	}
}

// nodeStatus reads a Node.
func nodeStatus(node kube.Object) k8s.NodeStatusSpec {
	metadata, _ := node["metadata"].(kube.Object)
	spec, _ := node["spec"].(kube.Object)
	status, _ := node["status"].(kube.Object)
	conditions, _ := status["conditions"].([]any)

	out := k8s.NodeStatusSpec{Labels: stringMap(metadata["labels"]), Annotations: stringMap(metadata["annotations"])}
	out.Nodename, _ = metadata["name"].(string)
	out.Unschedulable, _ = spec["unschedulable"].(bool)

	for _, item := range conditions {
		condition, _ := item.(kube.Object)
		if condition["type"] == "Ready" {
			out.NodeReady = condition["status"] == "True"
		}
	}

	cidrs, _ := spec["podCIDRs"].([]any)
	for _, item := range cidrs {
		text, _ := item.(string)
		if prefix, err := netip.ParsePrefix(text); err == nil {
			out.PodCIDRs = append(out.PodCIDRs, prefix)
		}
	}

	return out
}

func stringMap(v any) map[string]string {
	in, _ := v.(kube.Object)
	if len(in) == 0 {
		return nil
	}

	out := make(map[string]string, len(in))

	for key, value := range in {
		out[key], _ = value.(string)
	}

	return out
}
