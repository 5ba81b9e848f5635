// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// The annotations by which machines announce themselves on their Nodes. Machines with other software know them.
const (
	annotationNodeID       = "cluster.talos.dev/node-id"
	annotationPort         = "networking.talos.dev/api-server-port"
	annotationSpanAddress  = "networking.talos.dev/kubespan-ip"
	annotationSpanKey      = "networking.talos.dev/kubespan-public-key"
	annotationSpanPrefixes = "networking.talos.dev/assigned-prefixes"
	annotationSpanAt       = "networking.talos.dev/kubespan-endpoints"
	annotationSpanExcluded = "networking.talos.dev/kubespan-exclude-advertised-networks"
)

var registryAnnotations = []string{
	annotationNodeID, annotationPort, annotationSpanAddress, annotationSpanKey, annotationSpanPrefixes, annotationSpanAt, annotationSpanExcluded,
	k8s.NodeAddressesAnnotation,
}

// maxInAnnotation bounds a list in an annotation.
const maxInAnnotation = 256

// kubernetesPushController announces this machine on its own Node, if the configuration wants it. The addresses are there in any case.
func kubernetesPushController() controller.Controller {
	var (
		discovery cluster.ConfigSpec
		identity  cluster.IdentitySpec
	)

	return frominputs.Controller[k8s.NodeAnnotationSpecSpec]("cluster.KubernetesPushController", controller.Shared, frominputs.List{
		frominputs.Of(cluster.ConfigID, &discovery),
		frominputs.Of(cluster.LocalIdentityID, &identity),
		frominputs.Also(controller.In[cluster.AffiliateSpec](controller.Weak, "")),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		if !discovery.RegistryKubernetesEnabled {
			return nil
		}

		var own cluster.AffiliateSpec

		if f := typed.Read(ctx, rt, identity.NodeID, &own); f.Err != nil || !f.OK {
			return f.Err
		}

		for key, value := range announcement(own) {
			if err := typed.Set(ctx, rt, "", key, k8s.NodeAnnotationSpecSpec{Key: key, Value: value}); err != nil {
				return err
			}
		}

		return nil
	})
}

// announcement returns the annotations of a machine, without that of its addresses.
func announcement(own cluster.AffiliateSpec) map[string]string {
	out := map[string]string{annotationNodeID: own.NodeID}

	if own.ControlPlane != nil {
		out[annotationPort] = strconv.Itoa(own.ControlPlane.APIServerPort)
	}

	if span := own.KubeSpan; span != nil {
		for key, value := range map[string]string{
			annotationSpanAddress: span.Address.String(), annotationSpanKey: span.PublicKey,
			annotationSpanPrefixes: joined(span.AdditionalAddresses), annotationSpanAt: joined(span.Endpoints), annotationSpanExcluded: joined(span.ExcludeAdvertisedNetworks),
		} {
			if value != "" {
				out[key] = value
			}
		}
	}

	return out
}

func joined[T interface{ String() string }](list []T) string {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		texts = append(texts, item.String())
	}

	return strings.Join(texts, ",")
}

// kubernetesPullController reads what machines announce on their Nodes, if the configuration wants it. Kubelets of current versions of
// Kubernetes may read only their own Node, so that it works on control planes alone there. What is known stays while the API server does not
// answer.
func kubernetesPullController(root string) controller.Controller {
	return &follower{
		name: "cluster.KubernetesPullController",
		inputs: accessInputs(
			controller.In[cluster.ConfigSpec](controller.Weak, "", cluster.ConfigID),
			controller.In[k8s.NodenameSpec](controller.Weak, "", k8s.NodenameID),
		),
		output: controller.Out[cluster.AffiliateSpec](controller.Shared, cluster.RawNamespace),
		kind:   resource.KindOf[cluster.AffiliateSpec](cluster.RawNamespace),
		connect: func(ctx context.Context, rt controller.Runtime) (*target, error) {
			var discovery cluster.ConfigSpec

			if f := typed.Read(ctx, rt, cluster.ConfigID, &discovery); f.Err != nil || !discovery.RegistryKubernetesEnabled {
				return nil, f.Err
			}

			return atAPIServer(ctx, rt, root, target{path: "/api/v1/nodes", keep: announcing})
		},
		apply: func(ctx context.Context, rt controller.Runtime, nodes []kube.Object) error {
			var own k8s.NodenameSpec

			if f := typed.Read(ctx, rt, k8s.NodenameID, &own); f.Err != nil {
				return f.Err
			}

			for _, node := range nodes {
				spec, ok := announced(node)
				if !ok || spec.Nodename == own.Nodename {
					continue
				}

				if err := typed.Set(ctx, rt, cluster.RawNamespace, cluster.RawKubernetes+spec.NodeID, spec); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// announcing returns the part of a Node that announced reads.
func announcing(node kube.Object) kube.Object {
	kept := kube.Object{"name": kube.At[any](node, "metadata", "name")}
	annotations := kube.Object{}

	for _, key := range registryAnnotations {
		if value, ok := kube.At[kube.Object](node, "metadata", "annotations")[key]; ok {
			annotations[key] = value
		}
	}

	kept["annotations"] = annotations

	if value, ok := kube.At[kube.Object](node, "metadata", "labels")[settings.ControlPlaneLabel]; ok {
		kept["labels"] = kube.Object{settings.ControlPlaneLabel: value}
	}

	return kube.Object{
		"apiVersion": node["apiVersion"], "kind": node["kind"], "metadata": kept,
		"status": kube.Object{
			"addresses": kube.At[any](node, "status", "addresses"), "nodeInfo": kube.Object{"osImage": kube.At[any](node, "status", "nodeInfo", "osImage")},
		},
	}
}

// announced returns the machine of a Node, if it announces itself. Items of a list that cannot be read are left out.
func announced(node kube.Object) (spec cluster.AffiliateSpec, ok bool) {
	annotation := func(key string) string { return kube.At[string](node, "metadata", "annotations", key) }

	spec = cluster.AffiliateSpec{
		NodeID: annotation(annotationNodeID), Nodename: kube.At[string](node, "metadata", "name"),
		OperatingSystem: kube.At[string](node, "status", "nodeInfo", "osImage"), MachineType: config.TypeWorker,
		Addresses: listed(annotation(k8s.NodeAddressesAnnotation), netip.ParseAddr),
	}

	// The identity becomes an id of a resource.
	if spec.NodeID == "" || len(spec.NodeID) > 64 || strings.ContainsAny(spec.NodeID, "/ ") {
		return spec, false
	}

	for _, address := range kube.Items(node, "status", "addresses") {
		if address["type"] == "Hostname" {
			spec.Hostname = kube.At[string](address, "address")
		}
	}

	if _, plane := kube.At[kube.Object](node, "metadata", "labels")[settings.ControlPlaneLabel]; plane {
		spec.MachineType = config.TypeControlPlane

		if port, err := strconv.ParseUint(annotation(annotationPort), 10, 16); err == nil {
			spec.ControlPlane = &cluster.ControlPlane{APIServerPort: int(port)}
		}
	}

	if key := annotation(annotationSpanKey); key != "" {
		address, _ := netip.ParseAddr(annotation(annotationSpanAddress))

		spec.KubeSpan = &cluster.KubeSpanAffiliateSpec{
			PublicKey: key, Address: address,
			AdditionalAddresses:       listed(annotation(annotationSpanPrefixes), netip.ParsePrefix),
			Endpoints:                 listed(annotation(annotationSpanAt), netip.ParseAddrPort),
			ExcludeAdvertisedNetworks: listed(annotation(annotationSpanExcluded), netip.ParsePrefix),
		}
	}

	return spec, true
}

func listed[T comparable](text string, parse func(string) (T, error)) (out []T) {
	for item := range strings.SplitSeq(text, ",") {
		if value, err := parse(strings.TrimSpace(item)); err == nil && len(out) < maxInAnnotation && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}

	return out
}
