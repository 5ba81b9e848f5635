// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// LinkAlias is a second name for the network cards that an expression selects.
type LinkAlias struct {
	// At is the path of the expression in the configuration.
	At string
	// Name has %d in it if it is for several links.
	Name string
	// Match is a CEL expression over the status of a link.
	Match string
}

// LinkAliases are the second names of links, in the order of their documents.
func (c *Config) LinkAliases() []LinkAlias {
	var out []LinkAlias
	for _, d := range config.All[*network.LinkAliasConfig](c.all) {
		out = append(out, LinkAlias{At: document.Path(d) + ".selector.match", Name: d.DocName, Match: string(d.Selector.Match)})
	}

	return out
}
