// SPDX-License-Identifier: Apache-2.0

package talosconfig

import (
	"fmt"
	"reflect"
)

// Rename records that Merge renamed a context.
type Rename struct{ From, To string }

func (r Rename) String() string {
	return fmt.Sprintf("renamed talosconfig context %q -> %q", r.From, r.To)
}

// Merge adds the contexts of another file. If a different context has the same name, the added one gets a
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
