// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"encoding/base64"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
)

// authorityDocument is the kind of the document that may have the authorities of Kubernetes instead of the main document.
const authorityDocument = "KubeAPIServerCAConfig"

// edit changes the text of a configuration so that it says what want does. Everything else stays, with its comments.
func edit(k kind, text []byte, want trust) ([]byte, error) {
	parts, err := config.Split(text)
	if err != nil {
		return nil, err
	}

	var main, document *yaml.Node

	nodes := make([]*yaml.Node, 0, len(parts))

	for _, part := range parts {
		nodes = append(nodes, part.Node)

		switch part.Kind {
		case "":
			main = part.Node
		case authorityDocument:
			document = part.Node
		}
	}

	if main == nil {
		return nil, fmt.Errorf("change the authority (%s): the configuration has no main document", k)
	}

	switch {
	case k == machineAPI:
		putMain(main, "machine", want)
	case document == nil:
		putMain(main, "cluster", want)
	default:
		putDocument(main, document, want)
	}

	changed, err := config.Encode(nodes...)
	if err != nil {
		return nil, err
	}

	cfg, err := config.Decode(changed)
	if err != nil {
		return nil, err
	}

	got, err := trustOf(k, view.Of(cfg))
	if err != nil {
		return nil, err
	}

	if !got.equal(want) {
		return nil, fmt.Errorf("change the authority (%s): the changed configuration would not say what it should: change it by hand", k)
	}

	return changed, nil
}

// putMain changes a section of the main document.
func putMain(main *yaml.Node, section string, want trust) {
	putPair(main, section, want)

	if len(want.accepted) == 0 {
		unset(field(main, section), "acceptedCAs")

		return
	}

	list := &yaml.Node{Kind: yaml.SequenceNode}

	for _, cert := range want.accepted {
		item := &yaml.Node{Kind: yaml.MappingNode}
		set(item, "crt", scalar(base64.StdEncoding.EncodeToString(want.text(cert))))
		list.Content = append(list.Content, item)
	}

	set(field(main, section), "acceptedCAs", list)
}

// putPair changes the issuing authority in a section of the main document. The key of a worker, which has none, stays as it is.
func putPair(main *yaml.Node, section string, want trust) {
	ca := field(field(main, section), "ca")
	set(ca, "crt", scalar(base64.StdEncoding.EncodeToString(want.text(want.issuing))))

	if len(want.key) > 0 {
		set(ca, "key", scalar(base64.StdEncoding.EncodeToString(append(slices.Clone(want.key), '\n'))))
	}
}

// putDocument changes the document of Kubernetes' authorities. The issuing one may be in the main document. Without one, that of a worker,
// it is the first that is accepted.
func putDocument(main, document *yaml.Node, want trust) {
	accepted := want.accepted

	switch cluster := find(main, "cluster"); {
	case find(document, "issuingCA") != nil:
		issuing := field(document, "issuingCA")
		set(issuing, "cert", block(want.text(want.issuing)))
		set(issuing, "key", block(append(slices.Clone(want.key), '\n')))
	case cluster != nil && find(find(cluster, "ca"), "crt") != nil:
		putPair(main, "cluster", want)
	default:
		accepted = want.all()
	}

	if cluster := find(main, "cluster"); cluster != nil {
		unset(cluster, "acceptedCAs")
	}

	if len(accepted) == 0 {
		unset(document, "acceptedCAs")

		return
	}

	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, cert := range accepted {
		list.Content = append(list.Content, block(want.text(cert)))
	}

	set(document, "acceptedCAs", list)
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func block(value []byte) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.LiteralStyle, Value: string(value)}
}

// find returns the value of a key in a mapping, nil if there is none.
func find(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}

	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}

	return nil
}

// field returns the mapping at a key, which it creates if there is none.
func field(mapping *yaml.Node, key string) *yaml.Node {
	if value := find(mapping, key); value != nil && value.Kind == yaml.MappingNode {
		return value
	}

	value := &yaml.Node{Kind: yaml.MappingNode}
	set(mapping, key, value)

	return value
}

func set(mapping *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			before := mapping.Content[i+1]
			value.HeadComment, value.LineComment, value.FootComment = before.HeadComment, before.LineComment, before.FootComment
			mapping.Content[i+1] = value

			return
		}
	}

	mapping.Content = append(mapping.Content, scalar(key), value)
}

func unset(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)

			return
		}
	}
}
