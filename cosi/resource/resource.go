// SPDX-License-Identifier: Apache-2.0

// Package resource is the model: typed resources with an identity, a version, an owner, a phase, finalizers, labels
// and a spec.
//
// A resource that a state returns is an immutable version that all readers share: its metadata is sealed (a setter
// panics), and its spec must be treated as read-only. To change a resource, use the state's Modify, which passes a private
// copy, or Update with a DeepCopy. That is why a Get is only a pointer load, and a List a snapshot.
//
// A resource type is a plain Go struct with a Definition method; Typed wraps it:
//
//	type HostnameStatusSpec struct {
//		Hostname   string `yaml:"hostname" protobuf:"1"`
//		Domainname string `yaml:"domainname" protobuf:"2"`
//	}
//
//	func (HostnameStatusSpec) Definition() *resource.Definition { return hostnameStatusDefinition }
//
//	r := resource.New[HostnameStatusSpec]("network", "hostname")
//
// The yaml tags define the printed form, the protobuf tags the field numbers of the wire form.
package resource

// Kind addresses all resources of one type in one namespace.
type Kind struct {
	Namespace string
	Type      string
}

// Pointer addresses one resource.
type Pointer struct {
	Namespace string
	Type      string
	ID        string
}

// Kind returns the kind that the pointer points into.
func (p Pointer) Kind() Kind { return Kind{Namespace: p.Namespace, Type: p.Type} }

// Pointer returns the address of a resource of the kind.
func (k Kind) Pointer(id string) Pointer {
	return Pointer{Namespace: k.Namespace, Type: k.Type, ID: id}
}

// String prints the pointer as type(namespace/id).
func (p Pointer) String() string { return p.Type + "(" + p.Namespace + "/" + p.ID + ")" }

// String prints the kind as type(namespace).
func (k Kind) String() string { return k.Type + "(" + k.Namespace + ")" }

// Resource is metadata and a spec.
type Resource interface {
	// Metadata of the resource; sealed when the resource came from a state.
	Metadata() *Metadata
	// Spec is a pointer to the spec value; read-only when the metadata is sealed.
	Spec() any
	// DeepCopy returns a private, unsealed copy.
	DeepCopy() Resource
	// WithMetadata returns a resource with the given metadata that shares this one's spec.
	WithMetadata(md Metadata) Resource
}

// Tombstone is a resource with only an address: in the first event of a watch of a resource that does not exist, and in
// Bootstrapped and Noop events.
type Tombstone struct{ md Metadata }

// NewTombstone returns a tombstone for the address; its version is undefined.
func NewTombstone(p Pointer) *Tombstone {
	t := &Tombstone{md: NewMetadata(p.Namespace, p.Type, p.ID)}
	t.md.Seal()

	return t
}

// Metadata implements Resource.
func (t *Tombstone) Metadata() *Metadata { return &t.md }

// Spec implements Resource; a tombstone has none.
func (t *Tombstone) Spec() any { return nil }

// DeepCopy implements Resource.
func (t *Tombstone) DeepCopy() Resource { return &Tombstone{md: t.md.Copy()} }

// WithMetadata implements Resource.
func (t *Tombstone) WithMetadata(md Metadata) Resource { return &Tombstone{md: md} }
