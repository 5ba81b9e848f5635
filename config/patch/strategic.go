// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
)

// strategic is a partial configuration to merge in.
type strategic struct{ parts []config.Part }

func parseStrategic(text []byte) (Patch, error) {
	parts, err := config.Split(text)
	if err != nil {
		return nil, err
	}

	for i, part := range parts {
		if err := unknownMark(part.Node); err != nil {
			return nil, err
		}

		// Decoding limits the expansion of aliases; flatten relies on that.
		checked := part
		checked.Node = withoutMarks(part.Node, 0)

		if _, problems := config.DecodePart(checked); len(problems) > 0 {
			return nil, problems
		}

		parts[i].Node = flatten(part.Node)

		// A patch in JSON is written as block YAML in the result.
		if part.Node.Style&yaml.FlowStyle != 0 {
			plain(parts[i].Node)
		}
	}

	return strategic{parts}, nil
}

func (s strategic) apply(target []config.Part) ([]config.Part, error) {
	target = slices.Clone(target)

	for _, part := range s.parts {
		i := slices.IndexFunc(target, func(t config.Part) bool { return t.Kind == part.Kind && t.Name == part.Name })

		switch {
		case marked(part.Node):
			if i >= 0 {
				target = slices.Delete(target, i, i+1)
			}
		case i >= 0:
			target[i].Node = merge(target[i].Node, part.Node, documentType(part.Kind))
		default:
			empty := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			part.Node = merge(empty, part.Node, documentType(part.Kind))
			target = append(target, part)
		}
	}

	return target, nil
}

func documentType(kind string) reflect.Type {
	return reflect.TypeOf(config.NewDocument(kind)).Elem()
}

// plain resets the style of a node to the encoder's default.
func plain(node *yaml.Node) {
	node.Style = 0

	for _, child := range node.Content {
		plain(child)
	}
}
