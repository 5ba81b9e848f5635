// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// settings returns the settings that are not in effect: those of the network have conditions of their own. One that is followed with changes
// is in effect.
func settings(f *Facts) []Symptom {
	var out []Symptom

	for _, c := range all[network.SpecConditionSpec](f, network.NamespaceName) {
		if strings.HasPrefix(c.ID, network.ConditionSetting+"/") && c.spec.State != network.SpecApplied {
			out = append(out, instance[network.SpecConditionSpec](network.NamespaceName, c.ID))
		}
	}

	for _, c := range all[runtime.SettingConditionSpec](f, runtime.NamespaceName) {
		out = append(out, instance[runtime.SettingConditionSpec](runtime.NamespaceName, c.ID))
	}

	return out
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
