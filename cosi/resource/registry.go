// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

// registered is one known type.
type registered struct {
	def   *Definition
	spec  reflect.Type
	empty func(md Metadata) Resource
}

// registry is replaced, never changed: lookups take no lock.
var (
	registry   atomic.Pointer[map[string]*registered]
	registryMu sync.Mutex
)

func lookup(typ string) *registered {
	if all := registry.Load(); all != nil {
		return (*all)[typ]
	}

	return nil
}

// Register registers a type in this process, so its resources are decoded when they come from the wire or a store.
// Registering the same type again does nothing. Another Go type with the same name is an error, and so is a spec that has
// no protobuf form or cannot be copied.
func Register[S Spec]() error { return register(DefinitionOf[S](), reflect.TypeFor[S](), empty[S]) }

func register(def *Definition, goType reflect.Type, empty func(md Metadata) Resource) error {
	if def == nil || def.Type == "" {
		return fmt.Errorf("register %s: its definition has no type", goType)
	}

	if goType.Kind() != reflect.Struct {
		return fmt.Errorf("register %s: %s is not a struct", def.Type, goType)
	}

	if goType.NumField() > 0 {
		if err := protoenc.Check(goType); err != nil {
			return fmt.Errorf("register %s: %w", def.Type, err)
		}
	}

	if err := checkCopy(goType); err != nil {
		return fmt.Errorf("register %s: %w", def.Type, err)
	}

	registryMu.Lock()
	defer registryMu.Unlock()

	if other := lookup(def.Type); other != nil {
		if other.spec != goType {
			return fmt.Errorf("register %s: already registered for %s, not %s", def.Type, other.spec, goType)
		}

		return nil
	}

	next := map[string]*registered{}
	if all := registry.Load(); all != nil {
		next = maps.Clone(*all)
	}

	next[def.Type] = &registered{def: def, spec: goType, empty: empty}
	registry.Store(&next)

	return nil
}

// RegisteredTypes returns the definitions of all registered types, sorted by type.
func RegisteredTypes() []*Definition {
	all := registry.Load()
	if all == nil {
		return nil
	}

	out := make([]*Definition, 0, len(*all))
	for _, typ := range slices.Sorted(maps.Keys(*all)) {
		out = append(out, (*all)[typ].def)
	}

	return out
}

// NewOfType returns an empty resource of a registered type; false if the type is not registered. An empty
// namespace means the definition's default one.
func NewOfType(typ, namespace, id string) (Resource, bool) {
	e := lookup(typ)
	if e == nil {
		return nil, false
	}

	if namespace == "" {
		namespace = e.def.DefaultNamespace
	}

	return e.empty(NewMetadata(namespace, typ, id)), true
}

// decode returns a resource with the spec of a protobuf form.
func decode(md Metadata, proto []byte, empty func(md Metadata) Resource) (Resource, error) {
	r := empty(md)

	if len(proto) > 0 {
		if err := protoenc.Unmarshal(proto, r.Spec()); err != nil {
			return nil, fmt.Errorf("spec of %s: %w", &md, err)
		}
	}

	return r, nil
}

// decodeYAML returns a resource with the spec of a YAML form.
func (e *registered) decodeYAML(md Metadata, spec *yaml.Node) (Resource, error) {
	r := e.empty(md)

	if err := spec.Decode(r.Spec()); err != nil {
		return nil, fmt.Errorf("spec of %s: %w", &md, err)
	}

	return r, nil
}
