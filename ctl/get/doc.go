// SPDX-License-Identifier: Apache-2.0

// Package get reads what a node keeps in its state: resources, and the graph of the controllers that make them.
//
// A resource is printed as the node wrote it, comments of its YAML included; a table has the columns that the definition of its
// type asks for.
package get

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newGetCommand(s),
		session.Group("inspect", "Look inside the machinery", newInspectDependenciesCommand(s)),
	}
}
