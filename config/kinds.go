// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// kinds makes an empty document of each kind there is, the main one aside.
var kinds = map[string]func() Document{
	v1alpha1.HostnameConfigKind: func() Document { return &v1alpha1.HostnameConfig{} },
}

// Kinds lists the kinds of documents there are, the main one aside.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// NewDocument makes an empty document: kind "" is the main one. It returns nil for a kind that is not known.
func NewDocument(kind string) Document {
	if kind == "" {
		return &v1alpha1.Config{}
	}

	if make, ok := kinds[kind]; ok {
		return make()
	}

	return nil
}

// mainKeys are the keys by which a document without a kind is known to be the main one.
var mainKeys = []string{"version", "machine", "cluster", "debug", "persist"}
