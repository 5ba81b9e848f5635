// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// settings returns the settings that are not in effect: those of the network have conditions of their own. One that is followed with changes
// is in effect.
func settings(f *Facts) []Symptom {
	var out []Symptom

	for _, c := range all[network.SpecConditionSpec](f, network.NamespaceName) {
		if c.spec.State == network.SpecApplied || c.spec.State == network.SpecDegraded {
			continue
		}

		if layer, _ := origin(f, c.ID); layer == network.LayerConfiguration {
			out = append(out, instance[network.SpecConditionSpec](network.NamespaceName, c.ID))
		}
	}

	for _, c := range all[runtime.SettingConditionSpec](f, runtime.NamespaceName) {
		out = append(out, instance[runtime.SettingConditionSpec](runtime.NamespaceName, c.ID))
	}

	return out
}

// origin returns from which layer the spec of a condition comes, and the link that it needs, if any. A link needs its parent. What else has
// conditions comes from the configuration.
func origin(f *Facts, condition string) (layer network.ConfigLayer, link string) {
	kind, id, _ := strings.Cut(condition, "/")

	switch kind {
	case network.ConditionAddress:
		s, _ := find[network.AddressSpecSpec](f, id)

		return s.Layer, s.LinkName
	case network.ConditionRoute:
		s, _ := find[network.RouteSpecSpec](f, id)

		return s.Layer, s.OutLinkName
	case network.ConditionOperator:
		s, _ := find[network.OperatorSpecSpec](f, id)

		return s.Layer, s.LinkName
	case network.ConditionLink:
		s, _ := find[network.LinkSpecSpec](f, id)

		return s.Layer, s.ParentName
	default:
		return network.LayerConfiguration, ""
	}
}

// settingRule explains a setting by its condition.
func settingRule(_ *Facts, s Symptom, c runtime.SettingConditionSpec) *Finding {
	return notInEffect(s.ID, c.Cause, name(s.Type, s.Namespace, s.ID)+": exists")
}

func notInEffect(setting, cause, evidence string) *Finding {
	return &Finding{
		Says: "setting " + setting + " is not in effect: " + cause, Evidence: []string{evidence},
		Try: "correct it (talosctl edit mc, or the kernel's arguments), or give the machine what it needs",
	}
}

// conditionsOf returns the conditions of the controllers that follow a part of the configuration.
func conditionsOf(f *Facts, typ string) []Symptom {
	if !strings.HasSuffix(short(typ), "Configs") {
		return nil
	}

	var out []Symptom

	for _, c := range all[runtime.SettingConditionSpec](f, runtime.NamespaceName) {
		if slices.ContainsFunc(f.Edges, func(e Edge) bool { return e.Controller == c.Owner && !e.Output && e.Type == typ }) {
			out = append(out, instance[runtime.SettingConditionSpec](runtime.NamespaceName, c.ID))
		}
	}

	return out
}
