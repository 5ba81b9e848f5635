// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"reflect"
	"sync/atomic"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

// Spec is implemented by the plain struct of a resource type (not by the pointer). Definition must return the same pointer at
// each call.
//
// Optional methods are used when present, also those of a field's type: `DeepCopy() S` and `Equal(S) bool`. Without them
// the spec is copied and compared by reflection, by its exported fields. Unexported fields, which neither YAML nor protobuf
// encodes, are copied by assignment and not compared; Register refuses one that refers to other memory. An empty list or map
// equals nil, and times are equal if they are the same instant in any location. MarshalProto and UnmarshalProto (package
// protoenc), MarshalYAML and UnmarshalYAML (package yaml) replace the encodings by struct tags.
type Spec interface{ Definition() *Definition }

// Typed is a resource whose spec is an S. Its methods are compiled for each S, so they only pass the spec to functions that work by
// reflection: with their bodies here, the types of a machine were megabytes.
type Typed[S Spec] struct {
	_       [0]func() // not comparable, so that there is no code that compares it
	spec    *S
	md      Metadata
	encoded atomic.Pointer[encoded]
}

// New returns a resource with a zero spec. An empty namespace means the definition's default one.
func New[S Spec](namespace, id string) *Typed[S] {
	var spec S

	return &Typed[S]{spec: &spec, md: spec.Definition().metadata(namespace, id)}
}

// empty returns a resource with a zero spec.
func empty[S Spec](md Metadata) Resource { return &Typed[S]{spec: new(S), md: md} }

// DefinitionOf returns the definition of a spec type.
func DefinitionOf[S Spec]() *Definition {
	var spec S

	return spec.Definition()
}

// KindOf returns the kind of S in a namespace; an empty one means the definition's default.
func KindOf[S Spec](namespace string) Kind {
	return DefinitionOf[S]().kind(namespace)
}

// PointerOf returns the address of a resource of type S; an empty namespace means the default.
func PointerOf[S Spec](namespace, id string) Pointer {
	return DefinitionOf[S]().kind(namespace).Pointer(id)
}

// Metadata implements Resource.
func (r *Typed[S]) Metadata() *Metadata { return &r.md }

// Spec implements Resource: a *S.
func (r *Typed[S]) Spec() any { return r.spec }

// TypedSpec returns the spec; read-only on a resource that came from a state.
func (r *Typed[S]) TypedSpec() *S { return r.spec }

// Definition returns the definition of the type.
func (r *Typed[S]) Definition() *Definition { return (*r.spec).Definition() }

// String prints type(namespace/id).
func (r *Typed[S]) String() string { return r.md.address() }

// DeepCopy implements Resource.
func (r *Typed[S]) DeepCopy() Resource {
	return &Typed[S]{spec: copySpec(r.spec).(*S), md: r.md.Copy()}
}

// WithMetadata implements Resource. The encoded form of a sealed spec is kept.
func (r *Typed[S]) WithMetadata(md Metadata) Resource {
	out := &Typed[S]{spec: r.spec, md: md}

	if r.md.Sealed() {
		inheritSpec(&out.encoded, r)
	}

	return out
}

// EqualSpec compares the spec with another resource's.
func (r *Typed[S]) EqualSpec(other Resource) bool {
	o, ok := other.(*Typed[S])

	return ok && r.equal(o)
}

func (r *Typed[S]) equal(o *Typed[S]) bool { return r.spec == o.spec || equalSpecs(r.spec, o.spec) }

// equalSpecs compares two specs of one type, which are pointers.
func equalSpecs(a, b any) bool {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()

	return equalityOf(x.Type())(x, y)
}

// ProtoSpec returns the spec's protobuf form, nil for an empty one.
func (r *Typed[S]) ProtoSpec() ([]byte, error) { return protoenc.Marshal(r.spec) }

// YAMLSpec returns the spec's YAML form.
func (r *Typed[S]) YAMLSpec() (string, error) { return yamlSpec(r.spec) }

func yamlSpec(spec any) (string, error) {
	b, err := yaml.Marshal(spec)

	return string(b), err
}

func (r *Typed[S]) cache() *atomic.Pointer[encoded] { return &r.encoded }

// copySpec copies a spec deeply. It gets and returns a pointer.
func copySpec(spec any) any {
	from := reflect.ValueOf(spec).Elem()
	if from.Type().Size() == 0 {
		return spec // there is no memory to share
	}

	to := reflect.New(from.Type())
	to.Elem().Set(from)
	deepen(to.Elem())

	return to.Interface()
}

// Equal compares two resources: metadata without times, then spec.
func Equal(a, b Resource) bool {
	if !a.Metadata().Equal(b.Metadata()) {
		return false
	}

	return EqualSpec(a, b)
}

// EqualSpec compares only the specs.
func EqualSpec(a, b Resource) bool {
	if e, ok := a.(interface{ EqualSpec(Resource) bool }); ok {
		return e.EqualSpec(b)
	}

	return reflect.DeepEqual(a.Spec(), b.Spec())
}
