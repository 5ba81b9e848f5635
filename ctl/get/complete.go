// SPDX-License-Identifier: Apache-2.0

package get

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// completeGet completes resource types, and the ids of the resources of a type.
func completeGet(c *session.Session, g *get) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offered []string

		c.Ask(cmd.Context(), func(ctx context.Context, n session.Node) {
			definitions, err := n.Definitions(ctx)

			switch {
			case err != nil:
			case len(args) == 0:
				offered = typeNames(definitions)
			case len(args) == 1:
				offered = resourceIDs(ctx, n, definitions, args[0], g.namespace)
			}
		})

		return session.Beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp
	}
}

func typeNames(definitions client.Definitions) []string {
	var names []string

	for _, definition := range definitions {
		names = append(append(names, definition.Type, strings.ToLower(definition.DisplayType)), definition.AllAliases...)
	}

	slices.Sort(names)

	return slices.Compact(names)
}

func resourceIDs(ctx context.Context, n session.Node, definitions client.Definitions, name, namespace string) []string {
	definition, err := definitions.Find(name)
	if err != nil {
		return nil
	}

	found, _ := session.All(n.Resources(ctx, client.Kind{Namespace: cmp.Or(namespace, definition.DefaultNamespace), Type: definition.Type}))

	return session.Names(found, idOf)
}

func idOf(r *cosiapi.Resource) string { return r.GetMetadata().GetId() }
