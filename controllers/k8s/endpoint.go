// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// staticEndpoint returns the endpoint of the control plane in the configuration.
func staticEndpoint(cfg *view.Config) (*k8s.EndpointSpec, error) {
	host := cfg.Endpoint().Hostname()
	if host == "" {
		return nil, nil
	}

	spec := &k8s.EndpointSpec{}

	if addr, err := netip.ParseAddr(host); err == nil {
		spec.Addresses = []netip.Addr{addr}
	} else {
		spec.Hosts = []string{host}
	}

	return spec, nil
}

// endpointController follows the addresses that the API servers of the cluster publish: on a control plane with its administrator's
// kubeconfig, on a worker with the kubelet's.
func endpointController(root string) controller.Controller {
	return following[k8s.EndpointSpec](controller.Shared, follower{
		name:   "k8s.EndpointController",
		inputs: accessInputs(),
		connect: func(ctx context.Context, rt controller.Runtime) (*target, error) {
			return atAPIServer(ctx, rt, root, target{
				path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", selector: "metadata.name=kubernetes",
			})
		},
		apply: func(ctx context.Context, rt controller.Runtime, objects []kube.Object) error {
			// The known API servers stay known while none answers: KubePrism finds them again by their addresses.
			spec := endpointsOf(objects)
			if len(spec.Addresses) == 0 {
				return controller.ErrSkip
			}

			return typed.Set(ctx, rt, "", k8s.EndpointAPIServerID, spec)
		},
	})
}

// accessInputs returns the inputs of nodeAccess, and more.
func accessInputs(more ...controller.Input) []controller.Input {
	return append([]controller.Input{
		fromconfig.Input(),
		controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
		controller.In[secrets.KubernetesCertsSpec](controller.Weak, "", secrets.KubernetesID),
		controller.In[k8s.KubeletKubeconfigSpec](controller.Weak, "", k8s.KubeletID),
	}, more...)
}

// nodeAccess returns how this node connects to the API server, and a key that changes with it; nil until it can connect.
func nodeAccess(ctx context.Context, rt state.Reader, root string) (*kubeconfig.Config, string, error) {
	var machineType config.MachineTypeSpec

	if f := typed.Read(ctx, rt, config.MachineTypeID, &machineType); f.Err != nil || !f.OK {
		return nil, "", f.Err
	}

	if machineType.MachineType.IsControlPlane() {
		var own secrets.KubernetesCertsSpec

		if f := typed.Read(ctx, rt, secrets.KubernetesID, &own); f.Err != nil || !f.OK {
			return nil, "", f.Err
		}

		access, err := kubeconfig.Parse([]byte(own.LocalhostAdminKubeconfig))
		if err != nil {
			return nil, "", err
		}

		cfg, err := fromconfig.Active(ctx, rt)
		if err != nil || cfg == nil {
			return nil, "", err
		}

		// Other API servers answer while that of this node is down.
		if port, on := cfg.KubePrismPort(); on {
			access.Server = "https://127.0.0.1:" + strconv.Itoa(port)
		}

		return &access, access.Server + own.LocalhostAdminKubeconfig, nil
	}

	var identity k8s.KubeletKubeconfigSpec

	if f := typed.Read(ctx, rt, k8s.KubeletID, &identity); f.Err != nil || !f.OK {
		return nil, "", f.Err
	}

	access, err := kubeletIdentity(filepath.Join(root, kubelet.KubeconfigFile))

	return &access, identity.Hash, err
}

// atAPIServer returns the target with nodeAccess; nil until the node can connect.
func atAPIServer(ctx context.Context, rt state.Reader, root string, to target) (*target, error) {
	access, key, err := nodeAccess(ctx, rt, root)
	if err != nil || access == nil {
		return nil, err
	}

	to.key, to.config = key, *access

	return &to, nil
}

// nodeClient returns a client with nodeAccess; nil until the node can connect.
func nodeClient(ctx context.Context, rt state.Reader, root string) (*kube.Client, error) {
	access, _, err := nodeAccess(ctx, rt, root)
	if err != nil || access == nil {
		return nil, err
	}

	return kube.New(*access)
}

// endpointsOf collects the addresses of endpoint slices.
func endpointsOf(objects []kube.Object) k8s.EndpointSpec {
	var spec k8s.EndpointSpec

	for _, slice := range objects {
		for _, endpoint := range kube.Items(slice, "endpoints") {
			for _, address := range kube.At[[]any](endpoint, "addresses") {
				text, _ := address.(string)
				if addr, err := netip.ParseAddr(text); err == nil && !slices.Contains(spec.Addresses, addr) {
					spec.Addresses = append(spec.Addresses, addr)
				}
			}
		}
	}

	slices.SortFunc(spec.Addresses, netip.Addr.Compare)

	return spec
}
