// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// MaxSize is the maximum size of a configuration's text in bytes. Real ones have some kilobytes, or some hundred with manifests.
const MaxSize = 1 << 20

// Part is one document before it is decoded: its node and its identity.
type Part struct {
	Node *yaml.Node // a mapping
	Kind string     // "" for the main document
	Name string
}

// ErrEmpty is returned for a text without any document.
var ErrEmpty = errors.New("the machine configuration is empty: it needs at least one document (generate one with \"talosctl gen config\")")

// Split parses a text into its documents and identifies each. It skips empty documents.
func Split(text []byte) (parts []Part, err error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("the machine configuration has %d bytes: want at most %d", len(text), MaxSize)
	}

	if values := atMostValues(text); values > maxValues {
		return nil, fmt.Errorf("the machine configuration has up to %d values: want at most %d", values, maxValues)
	}

	// The text comes from the network, and the YAML library may panic.
	defer func() {
		if r := recover(); r != nil {
			parts, err = nil, fmt.Errorf("the machine configuration is not YAML: the parser panicked: %v", r)
		}
	}()

	var problems strict.Problems

	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node

		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("the machine configuration is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}

		if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
			continue
		}

		node := document.Content[0]

		if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
			continue
		}

		part, problem := identify(node)
		if problem != nil {
			problems = append(problems, *problem)

			continue
		}

		// The parser attaches comments before the first key and after the last to the document node.
		joinComment(&node.HeadComment, document.HeadComment)
		joinComment(&node.FootComment, document.FootComment)

		parts = append(parts, part)
	}

	if err := problems.Err(); err != nil {
		return nil, err
	}

	if len(parts) == 0 {
		return nil, ErrEmpty
	}

	return parts, nil
}

func joinComment(to *string, comment string) {
	if comment != "" && *to == "" {
		*to = comment
	}
}

// identify returns the identity of a document.
func identify(node *yaml.Node) (Part, *strict.Problem) {
	problem := func(at *yaml.Node, path, format string, args ...any) *strict.Problem {
		return &strict.Problem{Path: path, Line: at.Line, Column: at.Column, Text: fmt.Sprintf(format, args...)}
	}

	if node.Kind != yaml.MappingNode {
		return Part{}, problem(node, "", "a document must be an object (key: value): this is not a machine configuration")
	}

	var (
		head = map[string]*yaml.Node{}
		main bool
	)

	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i].Value

		switch key {
		case "apiVersion", "kind", "name":
			head[key] = node.Content[i+1]
		}

		main = main || slices.Contains(mainKeys, key)
	}

	switch version, kind := head["apiVersion"], head["kind"]; {
	case kind == nil && main:
		return Part{Node: node}, nil
	case kind == nil:
		return Part{}, problem(node, "", "the document has neither a kind nor a machine or cluster key: add one of them")
	case version == nil || version.Value != v1alpha1.Version:
		return Part{}, problem(kind, "apiVersion", "a document of kind %q needs apiVersion: %s", kind.Value, v1alpha1.Version)
	case NewDocument(kind.Value) == nil:
		return Part{}, problem(kind, "kind", "unknown kind %q%s: docs/configuration.md has all kinds", kind.Value, didYouMean(kind.Value))
	default:
		part := Part{Node: node, Kind: kind.Value}

		if name := head["name"]; name != nil {
			part.Name = name.Value
		}

		return part, nil
	}
}

func didYouMean(kind string) string {
	if question := strict.DidYouMean(kind, Kinds()); question != "" {
		return " (" + question + ")"
	}

	return ""
}
