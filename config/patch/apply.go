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

// Apply applies patches, in order, to the text of a configuration. Without patches it returns the text
// unchanged.
func Apply(text []byte, patches ...Patch) ([]byte, error) {
	if len(patches) == 0 {
		return text, nil
	}

	// Decode limits the expansion of aliases; flatten relies on that.
	if _, err := config.Decode(text); err != nil {
		return nil, fmt.Errorf("patch configuration: before the patch: %w", err)
	}

	parts, err := config.Split(text)
	if err != nil {
		return nil, fmt.Errorf("patch configuration: %w", err)
	}

	for i := range parts {
		parts[i].Node = flatten(parts[i].Node)
	}

	for i, patch := range patches {
		if parts, err = patch.apply(parts); err != nil {
			return nil, fmt.Errorf("patch configuration: patch %d: %w", i+1, err)
		}
	}

	nodes := make([]*yaml.Node, len(parts))

	for i, part := range parts {
		nodes[i] = part.Node
	}

	out, err := config.Encode(nodes...)
	if err != nil {
		return nil, fmt.Errorf("patch configuration: %w", err)
	}

	if _, err := config.Decode(out); err != nil {
		return nil, fmt.Errorf("patch configuration: after the patch: %w", err)
	}

	return out, nil
}
