// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

func machineRule(f *Facts, s Symptom) *Finding {
	status, ok := find[runtime.MachineStatusSpec](f, runtime.MachineStatusID)
	if !ok {
		return &Finding{
			Says: "the machine has no status", Vague: true,
			Because: []Symptom{{Kind: Controller, ID: "runtime.MachineStatusController"}},
		}
	}

	switch status.Stage { // the other stages are those of a machine that boots or runs
	case runtime.StageMaintenance:
		return maintenance(f)
	case runtime.StageRebooting, runtime.StageShuttingDown, runtime.StageResetting, runtime.StageUpgrading, runtime.StageInstalling:
		return &Finding{
			Says: fmt.Sprintf("the machine is %s", status.Stage),
			Try:  "wait, and follow what it does: talosctl events --tail -1, talosctl dmesg --follow",
		}
	}

	if status.Status.Ready {
		return cmp.Or(unfound(f), behind(f))
	}

	finding := &Finding{Says: fmt.Sprintf("the machine is %s, and not ready", status.Stage), Vague: true}

	for _, unmet := range status.Status.UnmetConditions {
		finding.Because = append(finding.Because, Symptom{Kind: Condition, ID: unmet.Name})
		finding.Evidence = append(finding.Evidence, unmet.Name+": "+unmet.Reason)
	}

	// A change may be the cause.
	for _, it := range all[runtime.TrialSpec](f, "") {
		if change := trialRule(f, Symptom{ID: it.ID}, it.spec); change != nil {
			finding.Evidence = append(finding.Evidence, change.Says)
		}
	}

	if len(finding.Because) == 0 {
		finding.Because = failingControllers(f)
	}

	return finding
}

// maintenance explains a machine that waits for a configuration. It may have found one that it cannot use.
func maintenance(f *Facts) *Finding {
	finding := &Finding{
		Says:     "the machine is in maintenance: it has no configuration",
		Evidence: []string{name(typeOf[runtime.MachineStatusSpec](), runtime.NamespaceName, runtime.MachineStatusID) + ": stage is maintenance"},
		Try:      "send one: talosctl apply-config --insecure --nodes ADDRESS --file FILE",
	}

	if failure, ok := find[config.ConfigFailureSpec](f, config.FailureID); ok {
		finding.Evidence = append(finding.Evidence, name(typeOf[config.ConfigFailureSpec](), config.NamespaceName, config.FailureID)+": "+failure.Error)
	}

	return finding
}

// unfound finds a control plane that is ready but not reachable at the cluster's endpoint. The control plane itself does not need the
// endpoint: other machines and users do.
func unfound(f *Facts) *Finding {
	endpoint, ok := clusterEndpoint(f)
	if !ok || !f.controlPlane() || f.unanswered(endpoint) == "" {
		return nil
	}

	return &Finding{Says: "the machine is ready, but its cluster cannot be reached at its endpoint", Vague: true, Because: []Symptom{{Kind: Endpoint}}}
}

// conditionRule explains an unmet condition by the resources or services that it is about.
func conditionRule(f *Facts, s Symptom) *Finding {
	finding := &Finding{Says: s.ID, Vague: true}

	status, _ := find[runtime.MachineStatusSpec](f, runtime.MachineStatusID)
	for _, unmet := range status.Status.UnmetConditions {
		if unmet.Name == s.ID {
			finding.Says = unmet.Name + ": " + unmet.Reason
		}
	}

	_, reason, _ := strings.Cut(finding.Says, ": ")

	switch s.ID {
	case "configuration":
		finding.Vague = false
		finding.Try = "send a configuration as an administrator: talosctl apply-config --nodes ADDRESS --file FILE; or, if the stored one is of a newer " +
			"version of the system, upgrade to that: talosctl upgrade --nodes ADDRESS --image IMAGE"
	case "time":
		finding.Because = []Symptom{instance[timeres.StatusSpec](timeres.NamespaceName, timeres.StatusID)}
	case "network":
		finding.Because = []Symptom{instance[network.StatusSpec](network.NamespaceName, network.StatusID)}
	case "services":
		finding.Because = subjects(ServiceOf, reason)
	case "staticPods":
		finding.Because = subjects(PodOf, reason)
	case "nodeReady":
		nodename, _ := find[k8s.NodenameSpec](f, k8s.NodenameID)
		finding.Because = []Symptom{instance[k8s.NodeStatusSpec](k8s.NamespaceName, nodename.Nodename)}
	}

	return finding
}

// subjects returns the subjects of a reason such as "etcd not running, kubelet not healthy": the first word of each part.
func subjects(kind Kind, reason string) []Symptom {
	var out []Symptom

	for part := range strings.SplitSeq(reason, ", ") {
		if id, _, _ := strings.Cut(part, " "); id != "" {
			out = append(out, Symptom{Kind: kind, ID: id})
		}
	}

	return out
}
