// SPDX-License-Identifier: Apache-2.0

package nodeowner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/nodeowner"
)

type object = nodeowner.Object

func TestApply(t *testing.T) {
	for name, test := range map[string]struct {
		node    object
		wanted  nodeowner.Wanted
		want    object
		changed bool
	}{
		"labels, annotations and taints are added beside those of others": {
			node: object{
				"metadata": object{"labels": object{"theirs": "1"}, "annotations": object{"theirs": "2"}},
				"spec":     object{"taints": []any{object{"key": "theirs", "effect": "NoExecute"}}},
			},
			wanted: nodeowner.Wanted{
				Labels: map[string]string{"mine": "a"}, Annotations: map[string]string{"note": "b"},
				Taints: map[string]nodeowner.Taint{"cp": {Effect: "NoSchedule"}},
			},
			want: object{
				"metadata": object{
					"labels": object{"theirs": "1", "mine": "a"},
					"annotations": object{
						"theirs": "2", "note": "b",
						"talos.dev/owned-labels": `["mine"]`, "talos.dev/owned-annotations": `["note"]`, "talos.dev/owned-taints": `["cp"]`,
					},
				},
				"spec": object{"taints": []any{object{"key": "theirs", "effect": "NoExecute"}, object{"key": "cp", "effect": "NoSchedule"}}},
			},
			changed: true,
		},
		"owned keys that are not wanted any more are removed": {
			node: object{
				"metadata": object{
					"labels":      object{"mine": "a", "theirs": "1"},
					"annotations": object{"talos.dev/owned-labels": `["mine"]`, "talos.dev/owned-taints": `["cp"]`},
				},
				"spec": object{"taints": []any{object{"key": "cp", "effect": "NoSchedule"}}},
			},
			want: object{
				"metadata": object{"labels": object{"theirs": "1"}, "annotations": object{}},
				"spec":     object{"taints": []any{}},
			},
			changed: true,
		},
		"nothing to do": {
			node: object{
				"metadata": object{"labels": object{"mine": "a"}, "annotations": object{"talos.dev/owned-labels": `["mine"]`}},
				"spec":     object{},
			},
			wanted: nodeowner.Wanted{Labels: map[string]string{"mine": "a"}},
			want: object{
				"metadata": object{"labels": object{"mine": "a"}, "annotations": object{"talos.dev/owned-labels": `["mine"]`}},
				"spec":     object{},
			},
		},
		"the system's own cordon is undone": {
			node: object{"metadata": object{"labels": object{}, "annotations": object{"talos.dev/cordoned": ""}}, "spec": object{"unschedulable": true}},
			want: object{"metadata": object{"labels": object{}, "annotations": object{}}, "spec": object{}}, changed: true,
		},
		"a person's cordon stays": {
			node: object{"metadata": object{"labels": object{}, "annotations": object{}}, "spec": object{"unschedulable": true}},
			want: object{"metadata": object{"labels": object{}, "annotations": object{}}, "spec": object{"unschedulable": true}},
		},
		"cordoned": {
			node:   object{"metadata": object{"labels": object{}, "annotations": object{}}, "spec": object{}},
			wanted: nodeowner.Wanted{Cordoned: true},
			want: object{
				"metadata": object{"labels": object{}, "annotations": object{"talos.dev/cordoned": ""}}, "spec": object{"unschedulable": true},
			},
			changed: true,
		},
		"a list of owned keys that is not valid counts as empty": {
			node:    object{"metadata": object{"labels": object{"a": "1"}, "annotations": object{"talos.dev/owned-labels": "["}}, "spec": object{}},
			want:    object{"metadata": object{"labels": object{"a": "1"}, "annotations": object{}}, "spec": object{}},
			changed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nodeowner.Apply(test.node, test.wanted, nodeowner.All...); got != test.changed {
				t.Errorf("changed: got %v, want %v", got, test.changed)
			}

			if diff := cmp.Diff(test.want, test.node); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}

			if nodeowner.Apply(test.node, test.wanted, nodeowner.All...) {
				t.Error("applied twice: got a second change, want none")
			}
		})
	}
}
