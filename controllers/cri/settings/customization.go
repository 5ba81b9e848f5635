// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config/view"
)

// ConfigVersion is the version of containerd's configuration, and of the parts that documents add to it.
const ConfigVersion = 3

// own are the keys of containerd's configuration that parts cannot set: the system finds containerd by them.
var own = [][]string{{"root"}, {"state"}, {"grpc", "address"}, {"imports"}, {"plugins", "io.containerd.cri.v1.images", "registry", "config_path"}}

// sandboxImage is the key of the image of sandboxes, which containerd pulls without asking who verifies images.
var sandboxImage = []string{"plugins", "io.containerd.cri.v1.images", "pinned_images", "sandbox"}

// Customization merges the parts that documents add to containerd's configuration, in their order. It is empty without any.
func Customization(parts []view.ContainerdPart) (string, error) {
	if len(parts) == 0 {
		return "", nil
	}

	merged := map[string]any{}

	for _, part := range parts {
		decoded, err := DecodePart(part.Content)
		if err != nil {
			return "", fmt.Errorf("%s: %w", partPath(part), err)
		}

		Merge(merged, decoded)
	}

	text, err := toml.Marshal(merged)
	if err != nil {
		return "", fmt.Errorf("containerd's configuration: %w", err)
	}

	return string(text), nil
}

func partPath(part view.ContainerdPart) string {
	return cmp.Or(part.Path, fmt.Sprintf("CRICustomizationConfig[%s].content", part.Name))
}

// DecodePart reads a part of containerd's configuration, and refuses one that the system cannot use.
func DecodePart(text string) (map[string]any, error) {
	var part map[string]any

	if err := toml.Unmarshal([]byte(text), &part); err != nil {
		if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
			row, column := at.Position()

			return nil, fmt.Errorf("is not TOML: line %d, column %d: %w", row, column, err)
		}

		return nil, fmt.Errorf("is not TOML: %w", err)
	}

	if v, ok := part["version"]; ok && v != int64(ConfigVersion) {
		return nil, fmt.Errorf("is of version %v: want version = %d, or no version", v, ConfigVersion)
	}

	for _, key := range own {
		if has(part, key) {
			return nil, fmt.Errorf("sets %q, which the system sets itself: remove it", key)
		}
	}

	return part, nil
}

func has(table map[string]any, key []string) bool {
	value, ok := table[key[0]]
	if !ok || len(key) == 1 {
		return ok
	}

	inner, ok := value.(map[string]any)

	return ok && has(inner, key[1:])
}

// Merge puts a part over a configuration of containerd, as containerd does with the files that it imports: tables are merged, lists at the
// top are appended, and other values are replaced.
func Merge(into, part map[string]any) {
	for key, value := range part {
		list, isList := value.([]any)
		if old, ok := into[key].([]any); ok && isList {
			into[key] = appendNew(old, list)

			continue
		}

		mergeValue(into, key, value)
	}
}

func mergeValue(into map[string]any, key string, value any) {
	from, isTable := value.(map[string]any)
	old, wasTable := into[key].(map[string]any)

	if !isTable {
		into[key] = value

		return
	}

	if !wasTable {
		old = map[string]any{}
		into[key] = old
	}

	for inner, v := range from {
		mergeValue(old, inner, v)
	}
}

func appendNew(old, list []any) []any {
	old = slices.Clone(old)

	for _, v := range list {
		if !slices.ContainsFunc(old, func(o any) bool { return reflect.DeepEqual(o, v) }) {
			old = append(old, v)
		}
	}

	return old
}
