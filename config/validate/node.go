// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
)

// ofKubelets are the labels and the domains in those of Kubernetes that a kubelet may set (k8s.io/kubelet/pkg/apis, which would be a tenth of
// the program).
var (
	ofKubelets = []string{
		"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"node.kubernetes.io/instance-type", "beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
	}
	domainsOfKubelets = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
)

// RestrictedLabel reports whether the admission plugin NodeRestriction refuses a label of a Node from a kubelet, and so from a worker.
func RestrictedLabel(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	in := func(domains ...string) bool {
		return slices.ContainsFunc(domains, func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) })
	}

	return in("kubernetes.io", "k8s.io") && !in(domainsOfKubelets...) && !slices.Contains(ofKubelets, key)
}

// nodeWarnings says which changes of its Node a worker cannot make.
func nodeWarnings(before, after *view.Config) (warnings []string) {
	if after.Type().IsControlPlane() {
		return nil
	}

	if keys := changedKeys(before.NodeTaints(), after.NodeTaints()); len(keys) > 0 {
		warnings = append(warnings, fmt.Sprintf("machine.nodeTaints, KubeNodeConfig.taints: %s: taints of a worker have an effect only when its Node is "+
			"registered: change those of a Node that exists with kubectl taint nodes", strings.Join(keys, ", ")))
	}

	labels := slices.DeleteFunc(changedKeys(before.NodeLabels(), after.NodeLabels()), func(key string) bool { return !RestrictedLabel(key) })
	if len(labels) > 0 {
		warnings = append(warnings, fmt.Sprintf("machine.nodeLabels, KubeNodeConfig.labels: %s: Kubernetes does not let a worker set or remove these labels: "+
			"change them with kubectl label nodes", strings.Join(labels, ", ")))
	}

	return warnings
}

// changedKeys returns the keys that one of two maps does not have, or with another value, in order.
func changedKeys(before, after map[string]string) (keys []string) {
	for key, value := range before {
		if now, kept := after[key]; !kept || now != value {
			keys = append(keys, key)
		}
	}

	for key := range after {
		if _, had := before[key]; !had {
			keys = append(keys, key)
		}
	}

	slices.Sort(keys)

	return keys
}
