// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// labelName is the part of a Kubernetes label's key after the slash; values have the same shape.
var labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// IsLabelKey reports whether text is a key of a Kubernetes label, annotation or taint.
func IsLabelKey(text string) bool {
	prefix, name, found := strings.Cut(text, "/")
	if !found {
		return labelName.MatchString(text)
	}

	return IsDNSName(prefix) && labelName.MatchString(name)
}

// IsLabelValue reports whether text is a value of a Kubernetes label or taint.
func IsLabelValue(text string) bool { return text == "" || labelName.MatchString(text) }

// taintEffects are what a taint does to pods that do not tolerate it.
var taintEffects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

// CheckLabels calls wrong for each label that Kubernetes refuses.
func CheckLabels(labels map[string]string, wrong func(key, problem string)) {
	CheckLabelKeys(labels, wrong)

	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if !IsLabelValue(labels[key]) {
			wrong(key, fmt.Sprintf("%q is not the value of a Kubernetes label: want up to 63 letters, digits, dashes, dots and underscores", labels[key]))
		}
	}
}

// CheckLabelKeys calls wrong for each key that Kubernetes refuses for labels, annotations and taints.
func CheckLabelKeys(labels map[string]string, wrong func(key, problem string)) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if !IsLabelKey(key) {
			wrong(key, "is not a key of Kubernetes: want a name of up to 63 letters, digits, dashes, dots and underscores, with a DNS name and a slash in front if need be")
		}
	}
}

// CheckTaints calls wrong for each taint that Kubernetes refuses. A value is VALUE:EFFECT or EFFECT.
func CheckTaints(taints map[string]string, wrong func(key, problem string)) {
	CheckLabelKeys(taints, wrong)

	for _, key := range slices.Sorted(maps.Keys(taints)) {
		text, effect, found := strings.Cut(taints[key], ":")
		if !found {
			text, effect = "", taints[key]
		}

		if !IsLabelValue(text) || !slices.Contains(taintEffects, effect) {
			wrong(key, fmt.Sprintf("%q is not a taint: want VALUE:EFFECT, the effect one of %s", taints[key], strings.Join(taintEffects, ", ")))
		}
	}
}
