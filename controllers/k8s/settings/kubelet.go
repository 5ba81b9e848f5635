// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"net/netip"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// ControlPlaneTaint keeps ordinary pods off control plane nodes; ControlPlaneLabel marks these nodes.
const (
	ControlPlaneTaint = "node-role.kubernetes.io/control-plane"
	ControlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// Kubelet returns the kubelet's settings.
func Kubelet(cfg *view.Config) k8s.KubeletConfigSpec {
	c := cfg.Kubelet()

	spec := k8s.KubeletConfigSpec{
		Image:                        c.Image,
		ClusterDomain:                cfg.DNSDomain(),
		ExtraConfig:                  c.ExtraConfig,
		CloudProviderExternal:        view.IsTrue(cfg.ExternalCloudProvider().Enabled),
		DefaultRuntimeSeccompEnabled: view.IsTrue(c.DefaultSeccompProfile),
		SkipNodeRegistration:         view.IsTrue(c.SkipNodeRegistration),
		DisableManifestsDirectory:    view.IsTrueOr(c.DisableManifestsDirectory, true),
		EnableFSQuotaMonitoring:      cfg.DiskQuotas(),
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

	// Without such rules the kubelet asks containerd itself.
	if len(cfg.ImageRules()) > 0 {
		spec.ExtraConfig = maps.Clone(spec.ExtraConfig)
		if spec.ExtraConfig == nil {
			spec.ExtraConfig = map[string]any{}
		}

		// Another value is refused later.
		if _, set := spec.ExtraConfig[kubelet.ImageServiceKey]; !set {
			spec.ExtraConfig[kubelet.ImageServiceKey] = kubelet.ImageServiceEndpoint
		}
	}

	return spec
}

func idMappings(in []view.IDMapping) []k8s.IDMapping {
	var out []k8s.IDMapping
	for _, m := range in {
		out = append(out, k8s.IDMapping(m))
	}

	return out
}

// NodeTaints returns the taints of the configuration, and the control plane's own taint unless ordinary pods may run there. The values are
// VALUE:EFFECT.
func NodeTaints(cfg *view.Config) map[string]string {
	out := maps.Clone(cfg.NodeTaints())

	if cfg.Type().IsControlPlane() && !cfg.ScheduleOnControlPlanes() {
		if out == nil {
			out = map[string]string{}
		}

		if _, own := out[ControlPlaneTaint]; !own {
			out[ControlPlaneTaint] = ":NoSchedule"
		}
	}

	return out
}

// dnsServiceIPs returns the tenth address of each service subnet, where the cluster's DNS is.
func dnsServiceIPs(cfg *view.Config) []netip.Addr {
	var out []netip.Addr

	for _, subnet := range cfg.ServiceSubnets() {
		addr := subnet.Masked().Addr()
		for range 10 {
			addr = addr.Next()
		}

		out = append(out, addr)
	}

	return out
}
