// SPDX-License-Identifier: Apache-2.0

// Package nodeowner decides what this system changes in a Node. It owns the labels, annotations and taints that it has set, and no others.
// Their keys are kept in annotations of the Node, so that they can be removed even after a reboot. It is pure.
package nodeowner

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/seed-59268b81/talos/config/validate"
)

// Annotations in which the owned keys are kept, as JSON lists.
const (
	ownedLabels      = "talos.dev/owned-labels"
	ownedAnnotations = "talos.dev/owned-annotations"
	ownedTaints      = "talos.dev/owned-taints"
	// cordonedBy marks a Node that this system made unschedulable. A Node that a person cordoned is left alone.
	cordonedBy = "talos.dev/cordoned"
)

// Object is a Kubernetes object.
type Object = map[string]any

// Taint of a Node.
type Taint struct{ Value, Effect string }

// Wanted is the wanted state of the Node.
type Wanted struct {
	Labels      map[string]string
	Annotations map[string]string
	Taints      map[string]Taint
	Cordoned    bool
}

// Part is a part of a Node that this system changes.
type Part string

// The parts. The API server may forbid a change of one and allow others: a kubelet is not allowed to change the taints of its Node, and most
// labels in the domains of Kubernetes.
const (
	Labels      Part = "labels"
	Restricted  Part = "labels that only a control plane may set"
	Taints      Part = "taints"
	Cordon      Part = "schedulability"
	Annotations Part = "annotations"
)

// All parts.
var All = []Part{Labels, Restricted, Taints, Cordon, Annotations}

// Apply changes parts of a Node, as read from the API server, in place. It reports whether anything changed.
func Apply(node Object, wanted Wanted, parts ...Part) (changed bool) {
	metadata := child(node, "metadata")
	spec := child(node, "spec")
	annotations := child(metadata, "annotations")
	labels := child(metadata, "labels")

	before := maps.Clone(annotations)

	for _, part := range parts {
		switch part {
		case Labels:
			changed = own(labels, annotations, ownedLabels, wanted.Labels, func(key string) bool { return !validate.RestrictedLabel(key) }) || changed
		case Restricted:
			changed = own(labels, annotations, ownedLabels, wanted.Labels, validate.RestrictedLabel) || changed
		case Taints:
			changed = ownTaints(spec, annotations, wanted.Taints) || changed
		case Cordon:
			changed = cordon(spec, annotations, wanted.Cordoned) || changed
		case Annotations:
			changed = own(annotations, annotations, ownedAnnotations, wanted.Annotations, func(string) bool { return true }) || changed
		}
	}

	return changed || !reflect.DeepEqual(before, annotations)
}

// own updates the owned keys of a map, of those that it covers.
func own(in, annotations Object, list string, wanted map[string]string, covers func(key string) bool) (changed bool) {
	var keys []string // that are owned afterwards

	for _, key := range owned(annotations, list) {
		if !covers(key) {
			keys = append(keys, key)

			continue
		}

		if _, keep := wanted[key]; keep {
			continue
		}

		if _, there := in[key]; there {
			delete(in, key)

			changed = true
		}
	}

	for key, value := range wanted {
		if !covers(key) {
			continue
		}

		keys = append(keys, key)

		if in[key] != value {
			in[key] = value
			changed = true
		}
	}

	slices.Sort(keys)
	setOwned(annotations, list, keys)

	return changed
}

func ownTaints(spec, annotations Object, wanted map[string]Taint) (changed bool) {
	present, _ := spec["taints"].([]any)
	mine := owned(annotations, ownedTaints)
	out := make([]any, 0, len(present)+len(wanted))
	met := map[string]bool{}

	for _, item := range present {
		taint, _ := item.(Object)
		key, _ := taint["key"].(string)
		want, ok := wanted[key]

		switch {
		case ok && same(taint, want):
			met[key] = true

			out = append(out, taint)
		case ok || slices.Contains(mine, key):
			changed = true
		default:
			out = append(out, taint)
		}
	}

	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if met[key] {
			continue
		}

		taint := Object{"key": key, "effect": wanted[key].Effect}
		if wanted[key].Value != "" {
			taint["value"] = wanted[key].Value
		}

		out, changed = append(out, taint), true
	}

	if changed {
		spec["taints"] = out
	}

	setOwned(annotations, ownedTaints, slices.Sorted(maps.Keys(wanted)))

	return changed
}

func same(taint Object, want Taint) bool {
	value, _ := taint["value"].(string)

	return value == want.Value && taint["effect"] == want.Effect
}

func cordon(spec, annotations Object, wanted bool) (changed bool) {
	unschedulable, _ := spec["unschedulable"].(bool)
	_, mine := annotations[cordonedBy]

	switch {
	case wanted && !unschedulable:
		spec["unschedulable"], annotations[cordonedBy] = true, ""
	case !wanted && mine:
		delete(spec, "unschedulable")
		delete(annotations, cordonedBy)
	default:
		return false
	}

	return true
}

// owned reads a list of keys. A list that is not valid counts as empty.
func owned(annotations Object, list string) []string {
	var keys []string

	text, _ := annotations[list].(string)
	if json.Unmarshal([]byte(text), &keys) != nil {
		return nil
	}

	return keys
}

func setOwned(annotations Object, list string, keys []string) {
	if len(keys) == 0 {
		delete(annotations, list)

		return
	}

	text, err := json.Marshal(keys)
	if err != nil {
		panic(err) // strings can always be encoded
	}

	annotations[list] = string(text)
}

func child(object Object, key string) Object {
	if c, ok := object[key].(Object); ok {
		return c
	}

	c := Object{}
	object[key] = c

	return c
}
