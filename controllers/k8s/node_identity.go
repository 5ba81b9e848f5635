// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// maxNodeAddresses bounds the addresses, and the names, of one Node.
const maxNodeAddresses = 64

// nodeIdentityController publishes the names and addresses of all Nodes of the cluster, on a control plane. trustd signs them for no other
// machine. They stay while the API server does not answer.
func nodeIdentityController(root string) controller.Controller {
	return following[k8s.NodeIdentitySpec](controller.Exclusive, follower{
		name:   "k8s.NodeIdentityController",
		inputs: accessInputs(),
		connect: func(ctx context.Context, rt controller.Runtime) (*target, error) {
			var machineType config.MachineTypeSpec

			if f := typed.Read(ctx, rt, config.MachineTypeID, &machineType); f.Err != nil || !machineType.MachineType.IsControlPlane() {
				return nil, f.Err
			}

			return atAPIServer(ctx, rt, root, target{path: "/api/v1/nodes", keep: identifying})
		},
		apply: func(ctx context.Context, rt controller.Runtime, nodes []kube.Object) error {
			if nodes == nil {
				return controller.ErrSkip
			}

			for _, node := range nodes {
				if err := typed.Set(ctx, rt, "", kube.At[string](node, "metadata", "name"), nodeIdentity(node)); err != nil {
					return err
				}
			}

			return nil
		},
	})
}

// identifying returns the part of a Node that nodeIdentity reads. The rest lists hundreds of images, and changes with each heartbeat.
func identifying(node kube.Object) kube.Object {
	kept := kube.Object{"name": kube.At[any](node, "metadata", "name")}

	for key, of := range map[string]string{"labels": settings.ControlPlaneLabel, "annotations": k8s.NodeAddressesAnnotation} {
		if value, ok := kube.At[kube.Object](node, "metadata", key)[of]; ok {
			kept[key] = kube.Object{of: value}
		}
	}

	return kube.Object{
		"apiVersion": node["apiVersion"], "kind": node["kind"], "metadata": kept,
		"status": kube.Object{"addresses": kube.At[any](node, "status", "addresses")},
	}
}

// nodeIdentity reads a Node. A kubelet can set any names and addresses in the status of its Node; the API server enforces only the Node's own
// name.
func nodeIdentity(node kube.Object) k8s.NodeIdentitySpec {
	var spec k8s.NodeIdentitySpec

	add := func(text string) {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if addr = addr.Unmap(); err == nil && len(spec.Addresses) < maxNodeAddresses && !slices.Contains(spec.Addresses, addr) {
			spec.Addresses = append(spec.Addresses, addr)
		}
	}

	for _, address := range kube.Items(node, "status", "addresses") {
		text := kube.At[string](address, "address")

		switch address["type"] {
		case "InternalIP", "ExternalIP":
			add(text)
		case "Hostname", "InternalDNS", "ExternalDNS":
			if name := strings.ToLower(text); name != "" && len(spec.Names) < maxNodeAddresses && !slices.Contains(spec.Names, name) {
				spec.Names = append(spec.Names, name)
			}
		}
	}

	for text := range strings.SplitSeq(kube.At[string](node, "metadata", "annotations", k8s.NodeAddressesAnnotation), ",") {
		add(text)
	}

	_, spec.ControlPlane = kube.At[kube.Object](node, "metadata", "labels")[settings.ControlPlaneLabel]

	return spec
}
