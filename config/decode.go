// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Decode decodes a configuration strictly. It copies the text.
func Decode(text []byte) (*Config, error) {
	parts, err := Split(text)
	if err != nil {
		return nil, err
	}

	type identity struct{ kind, name string }

	var (
		cfg      = &Config{text: bytes.Clone(text)}
		problems strict.Problems
		seen     = map[identity]*yaml.Node{}
	)

	for _, part := range parts {
		document, found := DecodePart(part)
		problems = append(problems, found...)

		id := identity{part.Kind, part.Name}

		if first := seen[id]; first != nil {
			problems = append(problems, strict.Problem{
				Document: document.Kind(), Line: part.Node.Line, Column: part.Node.Column,
				Text: fmt.Sprintf("duplicate document, first on line %d: merge the two or give them different names", first.Line),
			})
		}

		seen[id] = part.Node
		cfg.documents = append(cfg.documents, document)
	}

	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("decode machine configuration: %w", err)
	}

	return cfg, nil
}

// DecodeForBoot is Decode for a configuration that a machine boots with: it requires the main document.
func DecodeForBoot(text []byte) (*Config, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the configuration is empty")
	}

	cfg, err := Decode(text)
	if err != nil {
		return nil, err
	}

	if Find[*v1alpha1.Config](cfg) == nil {
		return nil, errors.New("the configuration has no v1alpha1 document (the one with machine and cluster): a machine cannot boot without it")
	}

	return cfg, nil
}

// DecodePart decodes one document strictly.
func DecodePart(part Part) (Document, strict.Problems) {
	document := NewDocument(part.Kind)
	problems := strict.Decode(part.Node, document)
	kind := part.Kind

	if main, ok := document.(*v1alpha1.Config); ok {
		kind = v1alpha1.Version

		if main.Version != "" && main.Version != v1alpha1.Version {
			problems = append(problems, strict.Problem{
				Path: "version", Line: part.Node.Line, Column: part.Node.Column,
				Text: fmt.Sprintf("unknown version %q: want %s", main.Version, v1alpha1.Version),
			})
		}
	}

	for i := range problems {
		problems[i].Document = kind
	}

	return document, problems
}
