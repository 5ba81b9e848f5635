// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
)

// annotator adds comments to the nodes of a configuration.
type annotator struct {
	Annotations
	worker bool
}

// longest is the length of a value with its comment behind it. Longer ones have it above.
const longest = 110

// object annotates the keys of an object, and below it the keys of other objects. An example of the object has keys that it lacks.
func (a *annotator) object(node *yaml.Node, t reflect.Type, example *yaml.Node, path string) {
	if node.Kind != yaml.MappingNode {
		return
	}

	fields := fieldsOf(t)

	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]

		f := slices.IndexFunc(fields, func(f structField) bool { return f.name == key.Value })
		if f < 0 || isHeader(path, key.Value) {
			continue
		}

		if a.Docs {
			explain(key, value, aboutField(fields[f]))
		}

		if inner, suffix := inside(fields[f].field.Type); inner != nil {
			a.object(first(value, suffix), inner, first(child(example, key.Value), suffix), strict.Join(path, key.Value))
		}
	}

	if a.Examples && len(node.Content) > 0 {
		if lacks := a.lacking(node, fields, example, path); lacks != "" {
			addComment(&node.Content[len(node.Content)-2].FootComment, lacks)
		}
	}
}

// isHeader reports whether a key says which document it is, so that it needs no comment.
func isHeader(path, key string) bool { return path == "" && (key == "apiVersion" || key == "kind") }

// first returns the object that a value is, or the first one that it has.
func first(value *yaml.Node, suffix string) *yaml.Node {
	for ; suffix != "" && value != nil && len(value.Content) > 0; suffix = strings.TrimSuffix(suffix, "[]") {
		value = value.Content[map[yaml.Kind]int{yaml.SequenceNode: 0, yaml.MappingNode: 1}[value.Kind]]
	}

	if value == nil {
		return &yaml.Node{}
	}

	return value
}

// aboutField returns the text of a field, with the values of an enum.
func aboutField(f structField) string {
	text := comment(f.owner, f.field.Name)
	if _, values := typeName(f.field.Type); len(values) > 0 {
		text += " One of " + strings.Join(values, ", ") + "."
	}

	return text
}

// explain puts a text behind a short value, and above others.
func explain(key, value *yaml.Node, text string) {
	if value.Kind == yaml.ScalarNode && len(value.Value)+len(text) <= longest && !strings.Contains(value.Value, "\n") {
		addComment(&value.LineComment, text)
	} else {
		addComment(&key.HeadComment, wrapped(text))
	}
}

// width is where comments of their own lines are wrapped, without their indentation.
const width = 110

// wrapped breaks a text into lines.
func wrapped(text string) string {
	var (
		out    strings.Builder
		length int
	)

	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && length+1+len(word) > width:
			out.WriteString("\n")

			length = 0
		case i > 0:
			out.WriteString(" ")

			length++
		}

		out.WriteString(word)

		length += len(word)
	}

	return out.String()
}

// addComment adds a text to a comment of a node.
func addComment(to *string, text string) {
	if text == "" {
		return
	}

	text = strings.TrimSuffix(commented(text), "\n")
	if *to != "" {
		text = *to + "\n" + text
	}

	*to = text
}

// lacking returns the keys of an example that an object lacks, as YAML.
func (a *annotator) lacking(node *yaml.Node, fields []structField, example *yaml.Node, path string) string {
	lacks := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}

	for _, f := range fields {
		value := child(node, f.name)
		shown := child(example, f.name)

		if value != nil && (value.Kind == yaml.ScalarNode || len(value.Content) > 0) || shown == nil || a.skips(f, strict.Join(path, f.name)) {
			continue
		}

		lacks.Content = append(lacks.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.name}, a.without(shown, f.field.Type, strict.Join(path, f.name)))
	}

	if len(lacks.Content) == 0 {
		return ""
	}

	text, err := config.Encode(lacks)
	if err != nil {
		return ""
	}

	return strings.TrimSuffix(string(text), "\n")
}

// without returns an example without the keys that are skipped. The example itself stays as it is.
func (a *annotator) without(example *yaml.Node, t reflect.Type, path string) *yaml.Node {
	inner, suffix := inside(t)
	if inner == nil || suffix != "" || example.Kind != yaml.MappingNode {
		return example
	}

	out := *example
	out.Content = nil

	for _, f := range fieldsOf(inner) {
		at := strict.Join(path, f.name)
		if value := child(example, f.name); value != nil && !a.skips(f, at) {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.name}
			out.Content = append(out.Content, key, a.without(value, f.field.Type, at))
		}
	}

	return &out
}

// skips reports whether a key is not an example: another key or document has replaced it, or the machine is a worker and the key is for
// control planes.
func (a *annotator) skips(f structField, path string) bool {
	if until := f.field.Tag.Get("replaced"); until != "" && "v"+until <= a.Contract {
		return true
	}

	return a.worker && slices.ContainsFunc(controlPlaneKeys(), func(key string) bool {
		return path == key || strings.HasPrefix(path, key+".")
	})
}

// controlPlaneKeys are the keys of the v1alpha1 document that only control planes have: those that documents for control planes replace, and
// those that have no document.
var controlPlaneKeys = sync.OnceValue(func() []string {
	keys := []string{
		"machine.controlPlane", "cluster.apiServer", "cluster.controllerManager", "cluster.scheduler", "cluster.proxy", "cluster.coreDNS",
		"cluster.etcd", "cluster.adminKubeconfig", "cluster.inlineManifests", "cluster.extraManifests", "cluster.extraManifestHeaders",
		"cluster.allowSchedulingOnControlPlanes", "cluster.allowSchedulingOnMasters",
	}

	for _, k := range allKinds() {
		if k.ControlPlane {
			keys = append(keys, k.Replaces...)
		}
	}

	return keys
})
