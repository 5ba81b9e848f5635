// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"sync"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/documents/block"
	"github.com/seed-59268b81/talos/config/documents/cluster"
	"github.com/seed-59268b81/talos/config/documents/cri"
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/documents/runtime"
	"github.com/seed-59268b81/talos/config/documents/security"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// domains are the packages of documents.
var domains = [][]document.Kind{
	block.Kinds(), cluster.Kinds(), cri.Kinds(), k8s.Kinds(), network.Kinds(), runtime.Kinds(), security.Kinds(),
}

// kinds are all kinds of documents by name, except for the main one.
var kinds = sync.OnceValue(func() map[string]document.Kind {
	all := map[string]document.Kind{}

	for _, domain := range domains {
		for _, kind := range domain {
			all[kind.Name] = kind
		}
	}

	return all
})

// Kinds returns the names of all kinds of documents, except for the main one.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds())) }

// KindOf returns the kind with a name.
func KindOf(name string) (kind document.Kind, known bool) {
	kind, known = kinds()[name]

	return kind, known
}

// NewDocument returns an empty document: kind "" is the main one. It returns nil for an unknown kind.
func NewDocument(kind string) Document {
	if kind == "" {
		return &v1alpha1.Config{}
	}

	if k, known := KindOf(kind); known {
		return k.New()
	}

	return nil
}

// mainKeys identify the main document, which has no kind.
var mainKeys = []string{"version", "machine", "cluster", "debug", "persist"}
