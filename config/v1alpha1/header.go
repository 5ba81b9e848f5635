// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Header starts every document but the main one.
type Header struct {
	APIVersion string `yaml:"apiVersion"`
	DocKind    string `yaml:"kind"`
}

// Kind is the document's kind.
func (h Header) Kind() string { return h.DocKind }
