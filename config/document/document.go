// SPDX-License-Identifier: Apache-2.0

package document

// APIVersion of all documents.
const APIVersion = "v1alpha1"

// Document is one document of a configuration.
type Document interface {
	// Kind returns the kind, such as LinkConfig.
	Kind() string
	// Name returns the name of a document of which there may be several, and nothing for others.
	Name() string
}

// Header is in every document of a kind.
type Header struct {
	APIVersion string `yaml:"apiVersion"`
	DocKind    string `yaml:"kind"`
}

// Kind implements Document.
func (h Header) Kind() string { return h.DocKind }

// Name implements Document: there is one document of the kind at most.
func (Header) Name() string { return "" }

// Named is the header of documents of which there may be several, each with another name.
type Named struct {
	Header `yaml:",inline"`
	// Name of the document.
	DocName string `yaml:"name" required:"true"`
}

// Name implements Document.
func (n Named) Name() string { return n.DocName }

// Kind describes a kind of documents.
type Kind struct {
	Name string
	// New returns an empty document.
	New func() Document
	// Example is a document of the kind, or several, as a person would write them.
	Example string
	// ControlPlane documents are not valid on workers.
	ControlPlane bool
	// Protects is set if a machine would be less safe than its owner believes where the document has no effect: it is then refused.
	Protects bool
	// Replaces are the keys of the v1alpha1 document that say the same. A configuration has the one or the other.
	Replaces []string
}

// Of returns the kind of documents of type T.
func Of[T any, P interface {
	*T
	Document
}](name, example string, options ...func(*Kind)) Kind {
	k := Kind{Name: name, Example: example, New: func() Document { return P(new(T)) }}
	for _, option := range options {
		option(&k)
	}

	return k
}

// ControlPlane is an option of Of.
func ControlPlane(k *Kind) { k.ControlPlane = true }

// Protects is an option of Of.
func Protects(k *Kind) { k.Protects = true }

// Replaces is an option of Of.
func Replaces(keys ...string) func(*Kind) { return func(k *Kind) { k.Replaces = keys } }

// Enum is a type of which only some values are valid.
type Enum interface {
	~string
	Values() []string
}

// EnumOf returns the texts of values.
func EnumOf[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}

	return out
}
