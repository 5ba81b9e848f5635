// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
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

// Ordered returns the objects of all manifests in the order of application: namespaces and definitions of resources first, since others need
// them; then ConfigMaps, since pods that a change replaces read them at once; and the rest in their present order.
func Ordered(all []Manifest) []render.Object {
	var first, configs, rest []render.Object

	for _, m := range all {
		for _, object := range m.Objects {
			switch object["kind"] {
			case "Namespace", "CustomResourceDefinition":
				first = append(first, object)
			case "ConfigMap":
				configs = append(configs, object)
			default:
				rest = append(rest, object)
			}
		}
	}

	return slices.Concat(first, configs, rest)
}
