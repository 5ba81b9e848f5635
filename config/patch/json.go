// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
)

// operations is a JSON patch (RFC 6902) on the v1alpha1 document and, by their kinds and names, on others.
type operations struct{ list jsonpatch.Patch }

// maxCopied is the maximum number of bytes that the copy operations of one patch may add.
const maxCopied = 1 << 20

func parseJSON(node *yaml.Node) (Patch, error) {
	text, err := toJSON(node)
	if err != nil {
		return nil, fmt.Errorf("JSON patch: %w", err)
	}

	list, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("JSON patch: want a list of {op, path, value}: %w", err)
	}

	known := []string{"add", "remove", "replace", "move", "copy", "test"}

	for i, operation := range list {
		if !slices.Contains(known, operation.Kind()) {
			return nil, fmt.Errorf("JSON patch: operation %d is %q: want one of %q", i+1, operation.Kind(), known)
		}
	}

	return operations{list}, nil
}

func (o operations) apply(target []config.Part) ([]config.Part, error) {
	kinds, err := o.kinds()
	if err != nil {
		return nil, err
	}

	if len(kinds) > 0 {
		return o.applyToKinds(target, kinds)
	}

	at := slices.IndexFunc(target, func(part config.Part) bool { return part.Kind == "" })
	if at < 0 {
		return nil, errors.New("JSON patch: the configuration has no v1alpha1 document: use a strategic merge patch")
	}

	before, err := toJSON(target[at].Node)
	if err != nil {
		return nil, err
	}

	after, err := applyOperations(o.list, before)
	if err != nil {
		return nil, fmt.Errorf("JSON patch: %w", err)
	}

	// JSON is YAML.
	result, err := config.Split(after)
	if err != nil {
		return nil, fmt.Errorf("JSON patch: result: %w", err)
	}

	plain(result[0].Node)

	target = slices.Clone(target)
	target[at].Node = reconcile(target[at].Node, result[0].Node)

	return target, nil
}

// applyOperations returns a panic of the library as an error: the patch is not trusted.
func applyOperations(list jsonpatch.Patch, before []byte) (after []byte, err error) {
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxCopied

	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("apply operations: %v", r)
		}
	}()

	return list.ApplyWithOptions(before, options)
}

func toJSON(node *yaml.Node) ([]byte, error) {
	var holder struct {
		Value any `yaml:"value"`
	}

	wrapped := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: "value"}, node}}

	if err := strict.Decode(wrapped, &holder).Err(); err != nil {
		return nil, err
	}

	return json.Marshal(holder.Value)
}
