// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"maps"
	"net/netip"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// ControlPlaneTaint keeps ordinary pods off control plane nodes; ControlPlaneLabel marks them.
const (
	ControlPlaneTaint = "node-role.kubernetes.io/control-plane"
	ControlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// Kubelet is the kubelet's settings.
func Kubelet(cfg *v1alpha1.Config) k8s.KubeletConfigSpec {
	c := &cfg.Machine.Kubelet

	spec := k8s.KubeletConfigSpec{
		Image:                        cmp.Or(c.Image, images.DefaultKubelet),
		ClusterDomain:                cfg.Cluster.DNSDomain(),
		ExtraConfig:                  c.ExtraConfig,
		CloudProviderExternal:        v1alpha1.IsTrue(cfg.Cluster.ExternalCloudProvider.Enabled),
		DefaultRuntimeSeccompEnabled: v1alpha1.IsTrue(c.DefaultSeccompProfile),
		SkipNodeRegistration:         v1alpha1.IsTrue(c.SkipNodeRegistration),
		DisableManifestsDirectory:    v1alpha1.IsTrueOr(c.DisableManifestsDirectory, true),
		EnableFSQuotaMonitoring:      v1alpha1.IsTrue(cfg.Machine.Features.DiskQuotaSupport),
		CredentialProviderConfig:     c.CredentialProvider,
		ExtraArgs:                    extraArgs(c.ExtraArgs),
		RegisterWithTaints:           NodeTaints(cfg),
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

// NodeTaints are the taints of the configuration, and the control plane's own unless pods may run there; the value is
// VALUE:EFFECT.
func NodeTaints(cfg *v1alpha1.Config) map[string]string {
	out := maps.Clone(cfg.Machine.Taints)

	if cfg.Machine.Type.IsControlPlane() && !cfg.Cluster.ScheduleOnControlPlanes() {
		if out == nil {
			out = map[string]string{}
		}

		if _, own := out[ControlPlaneTaint]; !own {
			out[ControlPlaneTaint] = ":NoSchedule"
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
