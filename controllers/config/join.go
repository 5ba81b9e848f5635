// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/patch"
)

// join adds the documents of a text to those of another, as a patch does: a document that both have is merged. The other may be empty.
func join(partial, text []byte) (*config.Config, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the configuration is empty")
	}

	if len(partial) == 0 {
		return config.Decode(text)
	}

	if _, err := config.Decode(text); err != nil {
		return nil, err
	}

	more, err := patch.Parse(text)
	if err != nil {
		return nil, err
	}

	joined, err := patch.Apply(partial, more)
	if err != nil {
		return nil, fmt.Errorf("together with the documents of other sources: %w", err)
	}

	return config.Decode(joined)
}
