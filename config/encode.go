// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// indent is the number of spaces per level in existing configurations.
const indent = 4

// Encode encodes documents as one text. A document is a struct or a *yaml.Node.
func Encode[T any](documents ...T) ([]byte, error) {
	var out bytes.Buffer

	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(indent)

	for i, document := range documents {
		if err := encoder.Encode(document); err != nil {
			return nil, fmt.Errorf("encode machine configuration: document %d: %w", i+1, err)
		}
	}

	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("encode machine configuration: %w", err)
	}

	return out.Bytes(), nil
}
