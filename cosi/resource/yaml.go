// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"
)

// MarshalYAML returns the printed form: metadata, then spec. The text of an Opaque's spec, its comments
// included, is kept.
func MarshalYAML(r Resource) ([]byte, error) {
	node, err := YAMLNode(r)
	if err != nil {
		return nil, err
	}

	return yaml.Marshal(node)
}

// YAMLNode returns the printed form as a mapping of metadata and spec.
func YAMLNode(r Resource) (*yaml.Node, error) {
	spec, err := specNode(r)
	if err != nil {
		return nil, fmt.Errorf("spec of %s: %w", r.Metadata(), err)
	}

	return mapping("metadata", metadataNode(r.Metadata()), "spec", spec), nil
}

func specNode(r Resource) (*yaml.Node, error) {
	node := &yaml.Node{}

	if o, ok := r.(*Opaque); ok {
		if err := yaml.Unmarshal([]byte(o.raw.YAML), node); err != nil {
			return nil, err
		}

		if len(node.Content) > 0 {
			node = unwrap(node)
		}
	} else if r.Spec() != nil {
		if err := node.Encode(r.Spec()); err != nil {
			return nil, err
		}
	}

	if node.Kind == 0 {
		node = mapping()
	}

	return node, nil
}

// unwrap returns the value of a document. A comment on the document moves to the value.
func unwrap(doc *yaml.Node) *yaml.Node {
	if doc.Kind != yaml.DocumentNode {
		return doc
	}

	node := doc.Content[0]
	if node.HeadComment == "" {
		node.HeadComment = doc.HeadComment
	}

	if node.FootComment == "" {
		node.FootComment = doc.FootComment
	}

	return node
}

func metadataNode(m *Metadata) *yaml.Node {
	node := mapping(
		"namespace", scalar(m.Namespace()),
		"type", scalar(m.Type()),
		"id", scalar(m.ID()),
		"version", scalar(m.VersionString()),
		"owner", scalar(m.Owner()),
		"phase", scalar(m.Phase().String()),
		"created", scalar(m.Created().Format(time.RFC3339)),
		"updated", scalar(m.Updated().Format(time.RFC3339)),
	)

	add := func(key string, value *yaml.Node) {
		if len(value.Content) > 0 {
			node.Content = append(node.Content, scalar(key), value)
		}
	}

	add("labels", pairsNode(m.Labels()))
	add("annotations", pairsNode(m.Annotations()))

	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, f := range m.Finalizers() {
		list.Content = append(list.Content, scalar(f))
	}

	add("finalizers", list)

	return node
}

func pairsNode(kv KeyValues) *yaml.Node {
	node := mapping()
	for k, v := range kv.All() {
		node.Content = append(node.Content, scalar(k), scalar(v))
	}

	return node
}

// mapping takes keys and nodes alternately.
func mapping(pairs ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		node.Content = append(node.Content, scalar(pairs[i].(string)), pairs[i+1].(*yaml.Node)) // the callers are above
	}

	return node
}

// scalar has no tag: text that looks like a number is printed bare, as users of the format expect.
func scalar(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// UnmarshalYAML reads one resource in its printed form: a mapping of exactly metadata and spec. The type
// must be registered.
func UnmarshalYAML(doc []byte) (Resource, error) {
	top, err := document(doc)
	if err != nil {
		return nil, fmt.Errorf("resource: %w", err)
	}

	if top.Kind != yaml.MappingNode {
		return nil, errAt(top, "resource is not a mapping")
	}

	parts := map[string]*yaml.Node{}

	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]

		if key.Value != "metadata" && key.Value != "spec" {
			return nil, errAt(key, "unknown key %q: a resource has metadata and spec", key.Value)
		}

		if value.Kind != yaml.MappingNode {
			return nil, errAt(value, "%s is not a mapping", key.Value)
		}

		parts[key.Value] = value
	}

	if parts["metadata"] == nil || parts["spec"] == nil {
		return nil, errAt(top, "resource needs both metadata and spec")
	}

	md, err := metadataFromYAML(parts["metadata"])
	if err != nil {
		return nil, err
	}

	e := lookup(md.Type())
	if e == nil {
		return nil, errAt(parts["metadata"], "type %q is not registered", md.Type())
	}

	return e.decodeYAML(md, parts["spec"])
}

// UnmarshalMetadataYAML reads metadata in its printed form; unknown keys are ignored.
func UnmarshalMetadataYAML(doc []byte) (Metadata, error) {
	top, err := document(doc)
	if err != nil {
		return Metadata{}, fmt.Errorf("metadata: %w", err)
	}

	return metadataFromYAML(top)
}

// document returns the value of a document.
func document(doc []byte) (*yaml.Node, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(doc, &node); err != nil {
		return nil, err
	}

	if len(node.Content) == 0 {
		return nil, errors.New("the document is empty")
	}

	return unwrap(&node), nil
}

func errAt(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d, column %d: %s", n.Line, n.Column, fmt.Sprintf(format, args...))
}
