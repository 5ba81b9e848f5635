// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

func (in *input) machine(role v1alpha1.MachineType) v1alpha1.MachineConfig {
	machine := v1alpha1.MachineConfig{
		Type:     role,
		Token:    in.Secrets.Trustd.Token,
		CA:       withoutKey(in.Secrets.Certs.OS),
		CertSANs: in.AdditionalSANs,
		Kubelet: v1alpha1.KubeletConfig{
			Image:                     images.Kubelet + ":" + in.kubernetes,
			DefaultSeccompProfile:     new(true),
			DisableManifestsDirectory: new(true),
		},
		Install: v1alpha1.InstallConfig{
			Disk:              in.InstallDisk,
			Image:             in.InstallImage,
			Wipe:              new(false),
			GrubUseUKICmdline: new(true),
		},
		Features: v1alpha1.FeaturesConfig{
			DiskQuotaSupport: new(true),
			KubePrism:        v1alpha1.KubePrism{Enabled: new(true), Port: v1alpha1.DefaultKubePrismPort},
			HostDNS:          v1alpha1.HostDNS{Enabled: new(true), ForwardKubeDNSToHost: new(true)},
		},
	}

	for host, endpoints := range in.RegistryMirrors {
		if machine.Registries.Mirrors == nil {
			machine.Registries.Mirrors = map[string]v1alpha1.RegistryMirror{}
		}

		machine.Registries.Mirrors[host] = v1alpha1.RegistryMirror{Endpoints: endpoints}
	}

	if role.IsControlPlane() {
		machine.CA = in.Secrets.Certs.OS
		machine.NodeLabels = map[string]string{withoutLoadBalancers: ""}
	}

	return machine
}
