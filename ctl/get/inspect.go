// SPDX-License-Identifier: Apache-2.0

package get

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/graph"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newInspectDependenciesCommand(s *session.Session) *cobra.Command {
	var withResources bool

	cmd := s.Flags(&cobra.Command{
		Use:     "dependencies",
		Short:   "Draw the graph of controllers and resources of one node, for graphviz",
		Example: "  talosctl inspect dependencies -n 172.20.0.2 | dot -Tsvg > graph.svg",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				edges, err := session.Bounded(ctx, n, session.Node.ControllerDependencies)
				if err != nil {
					return err
				}

				var resources graph.Resources

				if withResources {
					if resources, err = session.Bounded(ctx, n, allResources); err != nil {
						return err
					}
				}

				return graph.Write(cmd.OutOrStdout(), edges, resources)
			})
		},
	})

	cmd.Flags().BoolVar(&withResources, "with-resources", false, "list the resources of each type")

	return cmd
}

// allResources returns the ids of all resources that the caller may read, in the default namespaces of their types.
func allResources(n session.Node, ctx context.Context) (graph.Resources, error) {
	definitions, err := n.Definitions(ctx)
	if err != nil {
		return nil, err
	}

	all := graph.Resources{}

	for _, definition := range definitions {
		kind := client.Kind{Namespace: definition.DefaultNamespace, Type: definition.Type}

		found, err := session.All(n.Resources(ctx, kind))
		if err != nil && status.Code(err) != codes.PermissionDenied { // only administrators may read sensitive types
			return nil, err
		}

		at := graph.Kind{Namespace: kind.Namespace, Type: kind.Type}
		all[at] = append(all[at], session.Names(found, idOf)...)
	}

	return all, nil
}
