// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"time"

	"go.yaml.in/yaml/v4"
)

func metadataFromYAML(node *yaml.Node) (Metadata, error) {
	if node.Kind != yaml.MappingNode {
		return Metadata{}, errAt(node, "metadata is not a mapping")
	}

	var (
		texts               = map[string]string{"version": "undefined", "phase": "running"}
		nodes               = map[string]*yaml.Node{}
		times               = map[string]time.Time{}
		finalizers          []string
		labels, annotations map[string]string
	)

	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		nodes[key] = value

		var err error

		switch key {
		case "namespace", "type", "id", "version", "owner", "phase":
			texts[key], err = textNode(value)
		case "created", "updated":
			times[key], err = timeNode(value)
		case "labels":
			labels, err = pairsOfNode(value)
		case "annotations":
			annotations, err = pairsOfNode(value)
		case "finalizers":
			finalizers, err = listOfNode(value)
		}

		if err != nil {
			return Metadata{}, err
		}
	}

	md := NewMetadata(texts["namespace"], texts["type"], texts["id"])
	md.SetOwner(texts["owner"])
	md.SetCreated(times["created"])
	md.SetUpdated(times["updated"])

	if err := md.restore(texts["version"], texts["phase"], finalizers, KeyValuesOf(labels), KeyValuesOf(annotations)); err != nil {
		at := node
		if n := nodes["version"]; n != nil {
			at = n
		}

		return Metadata{}, errAt(at, "%v", err)
	}

	return md, nil
}

func textNode(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", errAt(n, "expected text")
	}

	return n.Value, nil
}

func timeNode(n *yaml.Node) (time.Time, error) {
	s, err := textNode(n)
	if err != nil || s == "" {
		return time.Time{}, err
	}

	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, errAt(n, "%v", err)
	}

	return t, nil
}

func pairsOfNode(n *yaml.Node) (map[string]string, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errAt(n, "expected a mapping of text to text")
	}

	m := make(map[string]string, len(n.Content)/2)

	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := textNode(n.Content[i+1])
		if err != nil {
			return nil, err
		}

		m[n.Content[i].Value] = v
	}

	return m, nil
}

func listOfNode(n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, errAt(n, "expected a list of text")
	}

	out := make([]string, 0, len(n.Content))

	for _, c := range n.Content {
		s, err := textNode(c)
		if err != nil {
			return nil, err
		}

		out = append(out, s)
	}

	return out, nil
}
