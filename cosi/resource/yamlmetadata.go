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
		raw   = RawMetadata{Version: "undefined", Phase: "running"}
		texts = map[string]*string{
			"namespace": &raw.Namespace, "type": &raw.Type, "id": &raw.ID, "owner": &raw.Owner, "phase": &raw.Phase,
		}
		at = node // of an error in version or phase
	)

	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]

		var err error

		switch key {
		case "version":
			at = value
			raw.Version, err = textNode(value)
		case "created":
			raw.Created, err = timeNode(value)
		case "updated":
			raw.Updated, err = timeNode(value)
		case "labels":
			raw.Labels, err = pairsOfNode(value)
		case "annotations":
			raw.Annotations, err = pairsOfNode(value)
		case "finalizers":
			raw.Finalizers, err = listOfNode(value)
		default:
			if text := texts[key]; text != nil {
				*text, err = textNode(value)
			}
		}

		if err != nil {
			return Metadata{}, err
		}
	}

	md, err := raw.Metadata()
	if err != nil {
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
