// SPDX-License-Identifier: Apache-2.0

package get

import (
	"cmp"
	"context"
	"sync"

	"github.com/spf13/cobra"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newGetCommand(s *session.Session) *cobra.Command {
	var get get

	cmd := s.OutputFlag(s.MaintenanceFlags(&cobra.Command{
		Use:     "get TYPE [ID]",
		Aliases: []string{"g"},
		Short:   "Print resources; talosctl get rd lists the types",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := get.output(s, cmd); err != nil {
				return err
			}

			get.typ = args[0]
			if len(args) == 2 {
				get.id = args[1]
			}

			if get.encode == nil {
				return s.Tabulate(cmd, get.table, get.node)
			}

			return s.Each(cmd, get.node)
		},
		ValidArgsFunction: completeGet(s, &get),
	}))

	cmd.Flags().StringVar(&get.namespace, "namespace", "", "namespace, if not the default one of the type")
	cmd.Flags().BoolVarP(&get.watch, "watch", "w", false, "follow changes")

	return cmd
}

// get is one run of the command.
type get struct {
	typ, id, namespace string
	watch              bool

	table     *session.Table
	begun     sync.Once // the header of the table is set
	documents *session.Documents
	encode    func(node string, c change) ([]byte, error) // nil for tables
}

// change is a resource and the event of a watch. A resource of a list has no event.
type change struct {
	event    *cosiapi.EventType
	resource *cosiapi.Resource
}

func (g *get) node(ctx context.Context, n session.Node) error {
	definitions, err := session.Bounded(ctx, n, session.Node.Definitions)
	if err != nil {
		return err
	}

	definition, err := definitions.Find(g.typ)
	if err != nil {
		return err
	}

	kind := client.Kind{Namespace: cmp.Or(g.namespace, definition.DefaultNamespace), Type: definition.Type}

	if g.watch {
		return g.follow(ctx, n, definition, kind)
	}

	found, err := session.Bounded(ctx, n, func(n session.Node, ctx context.Context) ([]change, error) { return g.list(ctx, n, kind) })
	if err != nil {
		return err
	}

	return g.print(n.Name, definition, found)
}

func (g *get) list(ctx context.Context, n session.Node, kind client.Kind) ([]change, error) {
	if g.id != "" {
		r, err := n.Resource(ctx, kind, g.id)

		return []change{{resource: r}}, err
	}

	found, err := session.All(n.Resources(ctx, kind))

	all := make([]change, len(found))
	for i, r := range found {
		all[i].resource = r
	}

	return all, err
}

// follow prints the present resources together, then each change.
func (g *get) follow(ctx context.Context, n session.Node, definition client.Definition, kind client.Kind) error {
	var initial []change

	bootstrapped := g.id != ""

	for event, err := range n.WatchResources(ctx, kind, g.id) {
		if err != nil {
			return err
		}

		if event.GetEventType() == cosiapi.EventType_BOOTSTRAPPED {
			bootstrapped = true

			if err := g.print(n.Name, definition, initial); err != nil {
				return err
			}

			continue
		}

		c := change{event: event.GetEventType().Enum(), resource: event.GetResource()}
		if !bootstrapped {
			initial = append(initial, c)

			continue
		}

		if err := g.print(n.Name, definition, []change{c}); err != nil {
			return err
		}
	}

	return nil
}
