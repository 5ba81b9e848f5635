// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// NodeIP returns the rules by which the kubelet's addresses are chosen: never one of a pod or a service.
func NodeIP(cfg *view.Config) *k8s.NodeIPConfigSpec {
	spec := &k8s.NodeIPConfigSpec{
		ExcludeSubnets: append(prefixes(cfg.PodSubnets()), prefixes(cfg.ServiceSubnets())...),
	}

	for _, subnet := range cfg.Kubelet().NodeIP.ValidSubnets {
		if excluded, ok := strings.CutPrefix(subnet, "!"); ok {
			spec.ExcludeSubnets = append(spec.ExcludeSubnets, excluded)
		} else {
			spec.ValidSubnets = append(spec.ValidSubnets, subnet)
		}
	}

	return spec
}
