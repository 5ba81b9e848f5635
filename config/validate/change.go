// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/view"
)

// Change checks whether a running machine may change from one configuration to another.
func Change(from, to *config.Config) (warnings []string, err error) {
	before, after := view.Of(from), view.Of(to)

	switch {
	case !before.Complete():
		return nil, nil
	case !after.Complete():
		return nil, errors.New("the new configuration has no v1alpha1 document: a running machine needs one; apply a complete configuration")
	case before.Type().IsControlPlane() != after.Type().IsControlPlane():
		return nil, fmt.Errorf("machine.type: the machine is %q and cannot become %q: reset it first", before.Type(), after.Type())
	case apiBlocked(after) && !apiBlocked(before):
		return nil, errors.New("NetworkDefaultActionConfig, NetworkRuleConfig: no other machine would reach the API any more: " + apiAdvice)
	}

	// A KubeClusterConfig without a document of flannel means that the owner installs a network, which an owner who only moves keys to documents
	// does not expect.
	silent := config.Find[*v1alpha1.Config](to).Cluster.Network.CNI.Name == ""
	if silent && after.Type().IsControlPlane() && before.CNI().Name == view.CNIFlannel && after.CNI().Name != view.CNIFlannel {
		warnings = append(warnings, "KubeClusterConfig: flannel is deleted from the cluster, and new pods have no network until another one is installed: "+
			"add a KubeFlannelCNIConfig document to keep it")
	}

	return append(warnings, nodeWarnings(before, after)...), nil
}

// Excludes returns an error if a machine that changes from one configuration, which may be nil, to another no longer accepts new connections
// to its API from an address.
func Excludes(from, to *config.Config, caller netip.Addr) error {
	accepts := func(v *view.Config) bool { return v.IngressAccepts(contract.APIPort, caller) }

	if accepts(view.Of(to)) || from != nil && !accepts(view.Of(from)) {
		return nil
	}

	return fmt.Errorf("NetworkDefaultActionConfig, NetworkRuleConfig: the API no longer accepts connections from %v, where this call is from: %s", caller, apiAdvice)
}
