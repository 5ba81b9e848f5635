// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// rule explains a symptom. It returns nil if nothing is wrong.
type rule func(f *Facts, s Symptom) *Finding

// rules are the rules of the kinds of symptoms.
var rules = map[Kind]rule{
	Machine: machineRule, Condition: conditionRule, InstanceOf: instanceRule, ServiceOf: serviceRule, PodOf: podRule,
	Controller: controllerRule, Route: routeRule, Address: addressRule, Cable: cableRule, Names: namesRule, Endpoint: endpointRule,
	Quorum: quorumRule, ImageOf: imageRule,
}

// typeRules are the rules of the resources of a type.
var typeRules = map[string]rule{
	typeOf[network.StatusSpec]():            known(networkRule),
	typeOf[network.SpecConditionSpec]():     known(specRule),
	typeOf[runtime.SettingConditionSpec]():  known(settingRule),
	typeOf[runtime.TrialSpec]():             known(trialRule),
	typeOf[network.AddressSpecSpec]():       conditionOf(network.ConditionAddress),
	typeOf[network.RouteSpecSpec]():         conditionOf(network.ConditionRoute),
	typeOf[network.LinkSpecSpec]():          conditionOf(network.ConditionLink),
	typeOf[network.OperatorSpecSpec]():      conditionOf(network.ConditionOperator),
	typeOf[timeres.StatusSpec]():            known(clockRule),
	typeOf[k8s.NodeStatusSpec]():            nodeRule,
	typeOf[k8s.NodenameSpec]():              known(nodenameRule),
	typeOf[k8s.KubeletServingStatusSpec]():  known(servingRule),
	typeOf[k8s.KubeletServingRequestSpec](): known(servingRequestRule),
}

// known returns the rule of resources whose spec can be decoded. For others it falls back to resourceRule.
func known[S resource.Spec](of func(f *Facts, s Symptom, spec S) *Finding) rule {
	return func(f *Facts, s Symptom) *Finding {
		spec, ok := find[S](f, s.ID)
		if !ok {
			return resourceRule(f, s)
		}

		return of(f, s, spec)
	}
}

func instanceRule(f *Facts, s Symptom) *Finding {
	if r, ok := typeRules[s.Type]; ok {
		return r(f, s)
	}

	return resourceRule(f, s)
}
