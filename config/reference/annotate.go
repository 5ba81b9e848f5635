// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Annotations says which comments a configuration gets.
type Annotations struct {
	// Docs adds what a key is.
	Docs bool
	// Examples adds keys that the configuration does not have.
	Examples bool
	// Contract is the release that reads the configuration, such as v1.12: keys that others have replaced until then are no examples.
	Contract string
	// Documents adds documents that the configuration does not have to the examples.
	Documents bool
}

// Annotate adds comments to the text of a configuration. Its documents stay the same.
func Annotate(text []byte, with Annotations) ([]byte, error) {
	parts, err := config.Split(text)
	if err != nil {
		return nil, fmt.Errorf("annotate configuration: %w", err)
	}

	a := annotator{Annotations: with, worker: isWorker(parts)}

	var (
		nodes   []*yaml.Node
		present []string
	)

	for _, part := range parts {
		k := kindOf(part.Kind)

		if a.Docs {
			addComment(&part.Node.HeadComment, wrapped(k.About))
		}

		example, err := exampleOf(&k)
		if err != nil {
			return nil, fmt.Errorf("annotate configuration: %w", err)
		}

		a.object(part.Node, k.Type, example, "")

		nodes, present = append(nodes, part.Node), append(present, part.Kind)
	}

	out, err := config.Encode(nodes...)
	if err != nil {
		return nil, fmt.Errorf("annotate configuration: %w", err)
	}

	return append(out, a.documents(present)...), nil
}

// allKinds are all kinds, the main document first.
var allKinds = sync.OnceValue(Kinds)

func kindOf(name string) Kind {
	for _, k := range allKinds() {
		if k.Name == name || k.Name == v1alpha1.Version && name == "" {
			return k
		}
	}

	return Kind{} // Split has refused what is not known
}

// exampleOf returns the first document of a kind's example.
func exampleOf(k *Kind) (*yaml.Node, error) {
	text := k.Example
	if k.Name == v1alpha1.Version {
		text = v1alpha1.Example
	}

	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, fmt.Errorf("example of %s: %w", k.Name, err)
	}

	block(&document)

	return document.Content[0], nil
}

// block has one key or element in each line.
func block(node *yaml.Node) {
	node.Style &^= yaml.FlowStyle

	for _, inner := range node.Content {
		block(inner)
	}
}

// documents returns examples of documents that a configuration does not have, as comments.
func (a *annotator) documents(present []string) []byte {
	if !a.Examples || !a.Documents {
		return nil
	}

	var out strings.Builder

	for _, k := range allKinds()[1:] {
		if slices.Contains(present, k.Name) || k.ControlPlane && a.worker {
			continue
		}

		text := "---\n" + k.Example
		if a.Docs {
			text = "---\n" + commented(wrapped(k.About)) + "\n" + k.Example
		}

		out.WriteString(commented(text))
	}

	return []byte(out.String())
}

// commented makes each line of a text a comment.
func commented(text string) string {
	var out strings.Builder

	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight("# "+strings.TrimSuffix(line, "\n"), " "))

		if strings.HasSuffix(line, "\n") {
			out.WriteString("\n")
		}
	}

	return out.String()
}

func isWorker(parts []config.Part) bool {
	for _, part := range parts {
		if part.Kind == "" {
			role := child(child(part.Node, "machine"), "type")

			return role != nil && role.Value == string(v1alpha1.TypeWorker)
		}
	}

	return false
}

// child returns the value of a key of a mapping, or nil.
func child(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}

	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}

	return nil
}
