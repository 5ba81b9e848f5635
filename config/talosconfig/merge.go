// SPDX-License-Identifier: Apache-2.0

package talosconfig

import (
	"fmt"
	"reflect"
)

// Rename tells that a context came in under another name.
type Rename struct{ From, To string }

func (r Rename) String() string {
	return fmt.Sprintf("renamed talosconfig context %q -> %q", r.From, r.To)
}

// Merge takes in the contexts of another file. A context whose name is taken by a different one gets a
// number (NAME-1, NAME-2, …). The other file's current context becomes the current one.
func (c *Config) Merge(other *Config) []Rename {
	var renames []Rename

	if c.Contexts == nil {
		c.Contexts = map[string]*Context{}
	}

	for _, name := range other.Names() {
		context, free := other.Contexts[name], name

		for i := 1; c.Contexts[free] != nil && !reflect.DeepEqual(c.Contexts[free], context); i++ {
			free = fmt.Sprintf("%s-%d", name, i)
		}

		c.Contexts[free] = context

		if free != name {
			renames = append(renames, Rename{From: name, To: free})
		}

		if name == other.Context {
			c.Context = free
		}
	}

	return renames
}
