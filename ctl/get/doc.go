// SPDX-License-Identifier: Apache-2.0

// Package get reads the resources of a node, and the graph of its controllers.
//
// A resource is printed as the node wrote it, with the comments of its YAML. A table has the columns of the definition of its type.
package get

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newGetCommand(s),
		session.Group("inspect", "Inspect the internals of a node", newInspectDependenciesCommand(s)),
	}
}
