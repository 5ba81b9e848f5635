// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig merges the kubeconfig of a cluster into the one that a user already has.
//
// Names that are taken by something else are renamed, by a number at the end, unless the caller chooses to overwrite.
// What is already there with the same content is used as it is, so merging the same file twice changes nothing.
package kubeconfig

import (
	"fmt"
	"reflect"

	"k8s.io/client-go/tools/clientcmd/api"
)

// Section is a part of a kubeconfig that holds named entries.
type Section string

// The sections.
const (
	Cluster Section = "cluster"
	User    Section = "user"
	Context Section = "context"
)

// Options say how Merge deals with names.
type Options struct {
	// ContextName renames the context, if it is not empty.
	ContextName string
	// Overwrite decides about a name that is taken by an entry with another content. Nil never overwrites.
	Overwrite func(section Section, name string) (bool, error)
}

// Rename tells of an entry that was merged under another name than it came with.
type Rename struct {
	Section  Section
	From, To string
}

// Merge adds the entries of from to into, and makes the current context of from current.
func Merge(into, from *api.Config, options Options) ([]Rename, error) {
	m := merge{options: options}

	clusters, err := mergeSection(&m, Cluster, into.Clusters, from.Clusters)
	if err != nil {
		return nil, err
	}

	users, err := mergeSection(&m, User, into.AuthInfos, from.AuthInfos)
	if err != nil {
		return nil, err
	}

	contexts := make(map[string]*api.Context, len(from.Contexts))
	current := from.CurrentContext

	for name, context := range from.Contexts {
		if options.ContextName != "" {
			if len(from.Contexts) > 1 {
				return nil, fmt.Errorf("cannot give the name %q to %d contexts", options.ContextName, len(from.Contexts))
			}

			name, current = options.ContextName, options.ContextName
		}

		context = context.DeepCopy()
		context.Cluster, context.AuthInfo = clusters[context.Cluster], users[context.AuthInfo]
		contexts[name] = context
	}

	names, err := mergeSection(&m, Context, into.Contexts, contexts)
	if err != nil {
		return nil, err
	}

	if current != "" {
		into.CurrentContext = names[current]
	}

	return m.renames, nil
}

type merge struct {
	options Options
	renames []Rename
}

// mergeSection returns the name under which each entry now is.
func mergeSection[E any](m *merge, section Section, into, from map[string]*E) (map[string]string, error) {
	names := make(map[string]string, len(from))

	for name, entry := range from {
		to, err := m.name(section, name, func(candidate string) state {
			existing, ok := into[candidate]

			switch {
			case !ok:
				return free
			case sameContent(existing, entry):
				return same
			default:
				return taken
			}
		})
		if err != nil {
			return nil, err
		}

		names[name], into[to] = to, entry
	}

	return names, nil
}

type state int

const (
	free state = iota
	same
	taken
)

func (m *merge) name(section Section, name string, look func(string) state) (string, error) {
	if look(name) != taken {
		return name, nil
	}

	if m.options.Overwrite != nil {
		overwrite, err := m.options.Overwrite(section, name)
		if overwrite || err != nil {
			return name, err
		}
	}

	for i := 1; ; i++ {
		candidate := fmt.Sprintf("%s-%d", name, i)
		if look(candidate) != taken {
			m.renames = append(m.renames, Rename{Section: section, From: name, To: candidate})

			return candidate, nil
		}
	}
}

// sameContent compares entries without the file they were read from.
func sameContent[E any](a, b *E) bool {
	return reflect.DeepEqual(withoutOrigin(a), withoutOrigin(b))
}

func withoutOrigin(entry any) any {
	switch e := entry.(type) {
	case *api.Cluster:
		e = e.DeepCopy()
		e.LocationOfOrigin, e.Extensions = "", nil

		return e
	case *api.AuthInfo:
		e = e.DeepCopy()
		e.LocationOfOrigin, e.Extensions = "", nil

		return e
	case *api.Context:
		e = e.DeepCopy()
		e.LocationOfOrigin, e.Extensions = "", nil

		return e
	default:
		return entry
	}
}
