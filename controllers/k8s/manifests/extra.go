// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// Extra decodes the text of a manifest of the machine configuration.
func Extra(extra k8s.ExtraManifest, text []byte) (Manifest, error) {
	objects, err := render.Parse(text)
	if err != nil {
		return Manifest{}, fmt.Errorf("manifest %s: %w", extra.Name, err)
	}

	return Manifest{Name: extraName(extra), Objects: flatten(objects)}, nil
}

func extraName(extra k8s.ExtraManifest) string { return extra.Priority + "-" + extra.Name }

// flatten replaces lists by their items.
func flatten(objects []render.Object) []render.Object {
	var out []render.Object

	for _, object := range objects {
		items, isList := object["items"].([]any)
		if kind, _ := object["kind"].(string); !isList || !strings.HasSuffix(kind, "List") {
			out = append(out, object)

			continue
		}

		for _, item := range items {
			if o, ok := item.(render.Object); ok {
				out = append(out, o)
			}
		}
	}

	return out
}

// Stages returns the objects of all manifests in stages: the objects of a stage need those of earlier stages at most. Namespaces and
// definitions of resources come first; programs come last, since their pods read ConfigMaps, use accounts and need roles at once. Of several
// objects with the same identity, the last one counts.
func Stages(all []Manifest) [][]render.Object {
	var stages [3][]render.Object

	left := map[[4]string]int{}

	for _, m := range all {
		for _, object := range m.Objects {
			left[identity(object)]++
		}
	}

	for _, m := range all {
		for _, object := range m.Objects {
			if left[identity(object)]--; left[identity(object)] > 0 {
				continue
			}

			stage := 1

			switch object["kind"] {
			case "Namespace", "CustomResourceDefinition":
				stage = 0
			case "Pod", "DaemonSet", "Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob":
				stage = 2
			}

			stages[stage] = append(stages[stage], object)
		}
	}

	return stages[:]
}

func identity(object render.Object) [4]string {
	apiVersion, kind, namespace, name := kube.Identity(object)

	return [4]string{apiVersion, kind, namespace, name}
}
