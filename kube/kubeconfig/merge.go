// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"fmt"
	"maps"
	"reflect"
)

// Section is a part of a kubeconfig that holds named entries.
type Section string

// The sections.
const (
	ClusterSection Section = "cluster"
	UserSection    Section = "user"
	ContextSection Section = "context"
)

// Options say how Merge handles names.
type Options struct {
	// ContextName renames the context, if it is not empty.
	ContextName string
	// Overwrite decides whether an entry of the same name with other content is overwritten. Nil never overwrites.
	Overwrite func(section Section, name string) (bool, error)
}

// Rename is an entry that was merged under another name.
type Rename struct {
	Section  Section
	From, To string
}

// Merge adds the entries of from to into, and makes the current context of from current. An entry whose name is taken by other content gets a
// number at the end of its name, unless the caller overwrites the other. An entry with the same content is not added again, so merging the same
// file twice changes nothing.
func Merge(into, from *File, options Options) ([]Rename, error) {
	m := merge{options: options}

	clusters, err := m.section(ClusterSection, &into.Clusters, from.Clusters)
	if err != nil {
		return nil, err
	}

	users, err := m.section(UserSection, &into.Users, from.Users)
	if err != nil {
		return nil, err
	}

	var contexts []Entry

	current := from.CurrentContext

	for _, e := range from.Contexts {
		if options.ContextName != "" {
			if len(from.Contexts) > 1 {
				return nil, fmt.Errorf("cannot give the name %q to %d contexts", options.ContextName, len(from.Contexts))
			}

			e.Name, current = options.ContextName, options.ContextName
		}

		if e.Context != nil {
			context := *e.Context
			context.Cluster, context.User = clusters[context.Cluster], users[context.User]
			e.Context = &context
		}

		contexts = append(contexts, e)
	}

	names, err := m.section(ContextSection, &into.Contexts, contexts)
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

// section returns the new name of each entry.
func (m *merge) section(section Section, into *[]Entry, from []Entry) (map[string]string, error) {
	names := make(map[string]string, len(from))

	for _, entry := range from {
		to, err := m.name(section, entry.Name, func(candidate string) bool {
			existing := find(*into, candidate)

			return existing != nil && !sameContent(*existing, entry)
		})
		if err != nil {
			return nil, err
		}

		names[entry.Name], entry.Name = to, to

		switch existing := find(*into, to); {
		case existing == nil:
			*into = append(*into, entry)
		case !sameContent(*existing, entry):
			*existing = entry
		}
	}

	return names, nil
}

func (m *merge) name(section Section, name string, taken func(string) bool) (string, error) {
	if !taken(name) {
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
		if !taken(candidate) {
			m.renames = append(m.renames, Rename{Section: section, From: name, To: candidate})

			return candidate, nil
		}
	}
}

// sameContent compares entries, without their names and the extensions of other programs.
func sameContent(a, b Entry) bool { return reflect.DeepEqual(content(a), content(b)) }

func content(e Entry) Entry {
	e.Name = ""

	switch {
	case e.Cluster != nil:
		c := *e.Cluster
		c.Rest = withoutExtensions(c.Rest)
		e.Cluster = &c
	case e.User != nil:
		u := *e.User
		u.Rest = withoutExtensions(u.Rest)
		e.User = &u
	case e.Context != nil:
		c := *e.Context
		c.Rest = withoutExtensions(c.Rest)
		e.Context = &c
	}

	return e
}

func withoutExtensions(rest map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, rest)
	delete(out, "extensions")

	return out
}
