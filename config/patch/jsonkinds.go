// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
)

// body is a document without its identity, in JSON.
type body = json.RawMessage

// kinds returns the kinds that paths of the operations begin with.
func (o operations) kinds() (map[string]bool, error) {
	kinds := map[string]bool{}

	for i, operation := range o.list {
		path, err := operation.Path()
		if err != nil {
			return nil, fmt.Errorf("JSON patch: operation %d: %w", i+1, err)
		}

		from, err := operation.From()
		if err != nil { // most operations have none
			from = ""
		}

		for _, pointer := range []string{path, from} {
			first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
			if first != "" && config.NewDocument(first) != nil {
				kinds[first] = true
			}
		}
	}

	return kinds, nil
}

// applyToKinds applies operations to one object: the v1alpha1 document, with the documents of other kinds under their kinds.
func (o operations) applyToKinds(target []config.Part, kinds map[string]bool) ([]config.Part, error) {
	all, err := object(target, kinds)
	if err != nil {
		return nil, err
	}

	before, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}

	text, err := applyOperations(o.list, before)
	if err != nil {
		return nil, fmt.Errorf("JSON patch: %w", err)
	}

	after := map[string]body{}
	if err := json.Unmarshal(text, &after); err != nil {
		return nil, fmt.Errorf("JSON patch: result: %w", err)
	}

	return rebuild(target, kinds, after)
}

// object returns documents as one object. Of the other documents, it has those of the given kinds.
func object(target []config.Part, kinds map[string]bool) (map[string]any, error) {
	all := map[string]any{}

	for kind := range kinds {
		if named(kind) {
			all[kind] = map[string]body{}
		}
	}

	for _, part := range target {
		text, err := toJSON(part.Node)
		if err != nil {
			return nil, err
		}

		keys := map[string]body{}
		if err := json.Unmarshal(text, &keys); err != nil {
			return nil, err
		}

		switch documents, isNamed := all[part.Kind].(map[string]body); {
		case part.Kind == "":
			for key, value := range keys {
				all[key] = value
			}
		case !kinds[part.Kind]:
		case isNamed:
			if documents[part.Name], err = withoutIdentity(keys); err != nil {
				return nil, err
			}
		default:
			if all[part.Kind], err = withoutIdentity(keys); err != nil {
				return nil, err
			}
		}
	}

	return all, nil
}

// identity are the keys of a document that its path has.
var identity = []string{"apiVersion", "kind", "name"}

func withoutIdentity(keys map[string]body) (body, error) {
	for _, key := range identity {
		delete(keys, key)
	}

	return json.Marshal(keys)
}

// named reports whether documents of a kind have names.
func named(kind string) bool {
	_, ok := reflect.TypeOf(config.NewDocument(kind)).Elem().FieldByName("DocName")

	return ok
}

// rebuild returns the documents of the object that operations have changed.
func rebuild(target []config.Part, kinds map[string]bool, after map[string]body) ([]config.Part, error) {
	wanted := map[config.Part]body{} // by kind and name, without a node

	for kind := range kinds {
		text, ok := after[kind]
		delete(after, kind)

		switch {
		case !ok:
		case !named(kind):
			wanted[config.Part{Kind: kind}] = text
		default:
			documents := map[string]body{}
			if err := json.Unmarshal(text, &documents); err != nil {
				return nil, fmt.Errorf("JSON patch: /%s: want an object of documents by their names", kind)
			}

			for name, text := range documents {
				wanted[config.Part{Kind: kind, Name: name}] = text
			}
		}
	}

	var out []config.Part

	for _, part := range target {
		id := config.Part{Kind: part.Kind, Name: part.Name}
		text, ok := wanted[id]

		switch {
		case part.Kind == "":
			if err := replaceMain(&part, after); err != nil {
				return nil, err
			}

			after = nil
		case !kinds[part.Kind]:
		case !ok:
			continue // removed
		default:
			value, err := withIdentity(id, text)
			if err != nil {
				return nil, err
			}

			part.Node = reconcile(part.Node, value)
			delete(wanted, id)
		}

		out = append(out, part)
	}

	if len(after) > 0 {
		return nil, errors.New("JSON patch: the configuration has no v1alpha1 document: use a strategic merge patch")
	}

	for _, id := range slices.SortedFunc(maps.Keys(wanted), func(a, b config.Part) int { return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name) }) {
		value, err := withIdentity(id, wanted[id])
		if err != nil {
			return nil, err
		}

		out = append(out, config.Part{Node: value, Kind: id.Kind, Name: id.Name})
	}

	return out, nil
}

// replaceMain sets the keys of the v1alpha1 document.
func replaceMain(part *config.Part, keys map[string]body) error {
	text, err := json.Marshal(keys)
	if err != nil {
		return err
	}

	value, err := fromJSON(text)
	if err != nil {
		return err
	}

	part.Node = reconcile(part.Node, value)

	return nil
}

// withIdentity returns a document.
func withIdentity(id config.Part, text body) (*yaml.Node, error) {
	path := "/" + id.Kind
	if id.Name != "" {
		path += "/" + id.Name
	}

	value, err := fromJSON(text)
	if err != nil {
		return nil, fmt.Errorf("JSON patch: %s: %w", path, err)
	}

	if value.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("JSON patch: %s: want an object", path)
	}

	head := map[string]string{"apiVersion": document.APIVersion, "kind": id.Kind, "name": id.Name}

	var content []*yaml.Node

	for _, key := range identity {
		if get(value, key) != nil {
			return nil, fmt.Errorf("JSON patch: %s: leave out %s: the path says it", path, key)
		}

		if key != "name" || named(id.Kind) {
			content = append(content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: head[key]})
		}
	}

	value.Content = append(content, value.Content...)

	return value, nil
}

// fromJSON returns the node of a text in JSON, which is YAML.
func fromJSON(text []byte) (*yaml.Node, error) {
	var node yaml.Node

	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}

	plain(node.Content[0])

	return node.Content[0], nil
}
