// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Header is the start of every document except the main one.
type Header struct {
	APIVersion string `yaml:"apiVersion"`
	DocKind    string `yaml:"kind"`
}

// Kind returns the document's kind.
func (h Header) Kind() string { return h.DocKind }
