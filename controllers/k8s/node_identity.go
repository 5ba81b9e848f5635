// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// maxNodeAddresses bounds what one Node may say of itself.
const maxNodeAddresses = 64

// nodeIdentityController follows all Nodes of the cluster on a control plane: who has which name and addresses. trustd keeps them from
// others. What is known stays while the API server does not answer.
func nodeIdentityController(root string) controller.Controller {
	return &follower{
		name: "k8s.NodeIdentityController",
		inputs: []controller.Input{
			fromconfig.Input(),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[secrets.KubernetesCertsSpec](controller.Weak, "", secrets.KubernetesID),
			controller.In[k8s.KubeletKubeconfigSpec](controller.Weak, "", k8s.KubeletID),
		},
		outputs: []controller.Output{controller.Out[k8s.NodeIdentitySpec](controller.Exclusive)},
		connect: func(ctx context.Context, rt controller.Runtime) (*target, error) {
			var machineType config.MachineTypeSpec

			if f := typed.Read(ctx, rt, config.MachineTypeID, &machineType); f.Err != nil || !machineType.MachineType.IsControlPlane() {
				return nil, f.Err
			}

			access, key, err := nodeAccess(ctx, rt, root)
			if err != nil || access == nil {
				return nil, err
			}

			return &target{key: key, config: *access, path: "/api/v1/nodes", keep: identifying}, nil
		},
		apply: func(ctx context.Context, rt controller.Runtime, nodes []kube.Object) error {
			if nodes == nil {
				return nil
			}

			rt.StartTrackingOutputs()

			for _, node := range nodes {
				_, _, _, name := kube.Identity(node)

				if err := typed.Set(ctx, rt, "", name, nodeIdentity(node)); err != nil {
					return err
				}
			}

			return rt.CleanupOutputs(ctx, resource.KindOf[k8s.NodeIdentitySpec](""))
		},
	}
}

// identifying is the part of a Node that its identity is read of: a Node lists hundreds of images, and changes with each heartbeat.
func identifying(node kube.Object) kube.Object {
	metadata, _ := node["metadata"].(kube.Object)
	status, _ := node["status"].(kube.Object)
	kept := kube.Object{"name": metadata["name"]}

	for key, of := range map[string]string{"labels": settings.ControlPlaneLabel, "annotations": k8s.NodeAddressesAnnotation} {
		all, _ := metadata[key].(kube.Object)
		if value, ok := all[of]; ok {
			kept[key] = kube.Object{of: value}
		}
	}

	return kube.Object{
		"apiVersion": node["apiVersion"], "kind": node["kind"], "metadata": kept, "status": kube.Object{"addresses": status["addresses"]},
	}
}

// nodeIdentity reads a Node. A kubelet may say what it likes among its addresses; the Node's own name is the only one that the API server
// holds it to.
func nodeIdentity(node kube.Object) k8s.NodeIdentitySpec {
	var spec k8s.NodeIdentitySpec

	add := func(text string) {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if addr = addr.Unmap(); err == nil && len(spec.Addresses) < maxNodeAddresses && !slices.Contains(spec.Addresses, addr) {
			spec.Addresses = append(spec.Addresses, addr)
		}
	}

	metadata, _ := node["metadata"].(kube.Object)
	status, _ := node["status"].(kube.Object)
	addresses, _ := status["addresses"].([]any)

	for _, item := range addresses {
		address, _ := item.(kube.Object)
		text, _ := address["address"].(string)

		switch address["type"] {
		case "InternalIP", "ExternalIP":
			add(text)
		case "Hostname", "InternalDNS", "ExternalDNS":
			if name := strings.ToLower(text); name != "" && len(spec.Names) < maxNodeAddresses && !slices.Contains(spec.Names, name) {
				spec.Names = append(spec.Names, name)
			}
		}
	}

	annotations, _ := metadata["annotations"].(kube.Object)
	said, _ := annotations[k8s.NodeAddressesAnnotation].(string)

	for text := range strings.SplitSeq(said, ",") {
		add(text)
	}

	labels, _ := metadata["labels"].(kube.Object)
	_, spec.ControlPlane = labels[settings.ControlPlaneLabel]

	return spec
}
