// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// controlPlaneTaint keeps ordinary pods off control plane nodes; controlPlaneLabel marks them.
const (
	controlPlaneTaint = "node-role.kubernetes.io/control-plane"
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// kubeletConfigController copies the kubelet's settings, once it is known where the list of static pods is served.
func kubeletConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.KubeletConfigController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[k8s.StaticPodServerStatusSpec](controller.Weak, "", k8s.StaticPodServerID),
		},
		Writes:  []controller.Output{controller.Out[k8s.KubeletConfigSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.KubeletConfigSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.Main(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			var server k8s.StaticPodServerStatusSpec

			if f := read(ctx, rt, k8s.StaticPodServerID, &server); f.err != nil || !f.ok {
				return f.err
			}

			return typed.Set(ctx, rt, "", k8s.KubeletID, kubeletConfig(cfg, server.URL))
		},
	}
}

// kubeletConfig is the kubelet's settings.
func kubeletConfig(cfg *v1alpha1.Config, staticPods string) k8s.KubeletConfigSpec {
	c := &cfg.Machine.Kubelet

	spec := k8s.KubeletConfigSpec{
		Image:                        orDefault(c.Image, images.DefaultKubelet),
		ClusterDomain:                cfg.Cluster.DNSDomain(),
		ExtraConfig:                  c.ExtraConfig,
		CloudProviderExternal:        v1alpha1.IsTrue(cfg.Cluster.ExternalCloudProvider.Enabled),
		DefaultRuntimeSeccompEnabled: v1alpha1.IsTrue(c.DefaultSeccompProfile),
		SkipNodeRegistration:         v1alpha1.IsTrue(c.SkipNodeRegistration),
		StaticPodListURL:             staticPods,
		DisableManifestsDirectory:    v1alpha1.IsTrueOr(c.DisableManifestsDirectory, true),
		EnableFSQuotaMonitoring:      v1alpha1.IsTrue(cfg.Machine.Features.DiskQuotaSupport),
		CredentialProviderConfig:     c.CredentialProvider,
		ExtraArgs:                    extraArgs(c.ExtraArgs),
		RegisterWithTaints:           nodeTaints(cfg),
	}

	for _, addr := range c.ClusterDNS {
		spec.ClusterDNS = append(spec.ClusterDNS, addr.String())
	}

	if len(spec.ClusterDNS) == 0 {
		for _, addr := range dnsServiceIPs(cfg) {
			spec.ClusterDNS = append(spec.ClusterDNS, addr.String())
		}
	}

	for _, m := range c.ExtraMounts {
		spec.ExtraMounts = append(spec.ExtraMounts, k8s.Mount{
			Destination: m.Destination, Type: m.Type, Source: m.Source, Options: m.Options,
			UIDMappings: idMappings(m.UIDMappings), GIDMappings: idMappings(m.GIDMappings),
		})
	}

	return spec
}

func idMappings(in []v1alpha1.IDMapping) []k8s.IDMapping {
	var out []k8s.IDMapping
	for _, m := range in {
		out = append(out, k8s.IDMapping(m))
	}

	return out
}

// nodeTaints are the taints of the configuration, and the control plane's own unless pods may run there; the value is
// VALUE:EFFECT.
func nodeTaints(cfg *v1alpha1.Config) map[string]string {
	out := maps.Clone(cfg.Machine.Taints)

	if cfg.Machine.Type.IsControlPlane() && !cfg.Cluster.ScheduleOnControlPlanes() {
		if out == nil {
			out = map[string]string{}
		}

		if _, own := out[controlPlaneTaint]; !own {
			out[controlPlaneTaint] = ":NoSchedule"
		}
	}

	return out
}

// dnsServiceIPs are the tenth addresses of the service subnets, where the cluster's DNS is.
func dnsServiceIPs(cfg *v1alpha1.Config) []netip.Addr {
	var out []netip.Addr

	for _, subnet := range cfg.Cluster.ServiceSubnets() {
		addr := subnet.Masked().Addr()
		for range 10 {
			addr = addr.Next()
		}

		out = append(out, addr)
	}

	return out
}
