// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// behind finds what is wrong with a machine that is ready: it runs an older image than its configuration names, a DHCP lease is not
// confirmed, another machine has its address, a setting is not in effect, the certificate of its kubelet is not signed, the
// image of a pod cannot be pulled, or a change is on trial or was reverted.
func behind(f *Facts) *Finding {
	finding := &Finding{Says: "the machine is ready, but does not run all that its configuration says", Vague: true}

	for _, o := range f.allOutdated() {
		symptom := Symptom{Kind: ServiceOf, ID: o.name}
		if pod := f.pod(o.name); pod != nil {
			symptom = Symptom{Kind: PodOf, ID: pod.ID}
		}

		finding.Because = append(finding.Because, symptom)
	}

	if len(finding.Because) == 0 {
		finding.Says = "the machine is ready, but not all of it is as it should be"
	}

	for _, c := range all[network.SpecConditionSpec](f, network.NamespaceName) {
		if c.spec.State == network.SpecDegraded {
			finding.Because = append(finding.Because, instance[network.SpecConditionSpec](network.NamespaceName, c.ID))
		}
	}

	finding.Because = append(finding.Because, settings(f)...)

	if nodename, ok := find[k8s.NodenameSpec](f, k8s.NodenameID); ok && nodename.Kept != "" {
		finding.Because = append(finding.Because, instance[k8s.NodenameSpec](k8s.NamespaceName, k8s.NodenameID))
	}

	finding.Because = append(finding.Because, serving(f)...)
	finding.Because = append(finding.Because, unpulled(f)...)
	finding.Because = append(finding.Because, trials(f)...)

	if len(finding.Because) == 0 {
		return nil
	}

	return finding
}

// nodenameRule reports a Node that does not have the hostname as its name.
func nodenameRule(_ *Facts, s Symptom, nodename k8s.NodenameSpec) *Finding {
	if nodename.Kept == "" {
		return nil
	}

	return &Finding{
		Says:     fmt.Sprintf("node %q keeps its name: %s", nodename.Nodename, nodename.Kept),
		Evidence: []string{name(s.Type, s.Namespace, s.ID) + ": kept is set"},
		Try: fmt.Sprintf("nothing, if the Node is to stay %s; otherwise choose its name in the machine configuration (a HostnameConfig document with hostname, "+
			"or machine.network.hostname), and remove the old one: kubectl delete node %s", nodename.Nodename, nodename.Nodename),
	}
}
