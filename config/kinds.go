// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// kinds has a constructor for each kind of document except the main one.
var kinds = map[string]func() Document{
	v1alpha1.HostnameConfigKind: func() Document { return &v1alpha1.HostnameConfig{} },
}

// Kinds returns the kinds of documents, without the main one.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// NewDocument returns an empty document, or nil for an unknown kind. Kind "" is the main document.
func NewDocument(kind string) Document {
	if kind == "" {
		return &v1alpha1.Config{}
	}

	if make, ok := kinds[kind]; ok {
		return make()
	}

	return nil
}

// mainKeys identify the main document, which has no kind.
var mainKeys = []string{"version", "machine", "cluster", "debug", "persist"}
