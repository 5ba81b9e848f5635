// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
)

// Patch is one change to a configuration.
type Patch interface {
	apply(target []config.Part) ([]config.Part, error)
}

// Apply changes the text of a configuration by patches, in order. Without patches the text stays as it
// is, to the byte.
func Apply(text []byte, patches ...Patch) ([]byte, error) {
	if len(patches) == 0 {
		return text, nil
	}

	// Decoding bounds what the text unfolds to, which flatten relies on.
	if _, err := config.Decode(text); err != nil {
		return nil, fmt.Errorf("patching: the configuration before the patch: %w", err)
	}

	parts, err := config.Split(text)
	if err != nil {
		return nil, fmt.Errorf("patching: %w", err)
	}

	for i := range parts {
		parts[i].Node = flatten(parts[i].Node)
	}

	for i, patch := range patches {
		if parts, err = patch.apply(parts); err != nil {
			return nil, fmt.Errorf("patching: patch %d: %w", i+1, err)
		}
	}

	nodes := make([]*yaml.Node, len(parts))

	for i, part := range parts {
		nodes[i] = part.Node
	}

	out, err := config.Encode(nodes...)
	if err != nil {
		return nil, fmt.Errorf("patching: %w", err)
	}

	if _, err := config.Decode(out); err != nil {
		return nil, fmt.Errorf("patching: the configuration after the patch: %w", err)
	}

	return out, nil
}
