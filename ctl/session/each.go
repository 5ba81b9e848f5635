// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"
)

// Each runs do for every node at once. The error holds the failures of all nodes.
func (s *Session) Each(cmd *cobra.Command, do func(ctx context.Context, n Node) error) error {
	return s.connected(func(nodes []Node) error { return atOnce(cmd.Context(), nodes, do) })
}

// Tabulate is Each for commands that print a table. The first rows wait a moment for the rows of the other nodes.
func (s *Session) Tabulate(cmd *cobra.Command, t *Table, do func(ctx context.Context, n Node) error) error {
	return s.connected(func(nodes []Node) error {
		t.expect(nodes)

		return atOnce(cmd.Context(), nodes, func(ctx context.Context, n Node) error {
			err := do(ctx, n)
			if printed := t.answered(n); err == nil {
				err = printed
			}

			return err
		})
	})
}

// InTurn is Each for commands that work on one node after the other.
func (s *Session) InTurn(cmd *cobra.Command, do func(ctx context.Context, n Node) error) error {
	return s.connected(func(nodes []Node) error {
		failures := make([]error, len(nodes))
		for i, n := range nodes {
			failures[i] = n.run(cmd.Context(), do)
		}

		return errors.Join(failures...)
	})
}

// One runs do for the only node, and fails if there are several.
func (s *Session) One(cmd *cobra.Command, do func(ctx context.Context, n Node) error) error {
	return s.connected(func(nodes []Node) error {
		if len(nodes) > 1 {
			return UsageError(cmd, "%s works on one node, and there are %d: name one with --nodes", cmd.CommandPath(), len(nodes))
		}

		return nodes[0].run(cmd.Context(), do)
	})
}

// connected runs do while the nodes are connected.
func (s *Session) connected(do func(nodes []Node) error) error {
	nodes, closeAll, err := s.Targets()
	if err != nil {
		return err
	}

	defer closeAll()

	return do(nodes)
}

func atOnce(ctx context.Context, nodes []Node, do func(ctx context.Context, n Node) error) error {
	failures := make([]error, len(nodes))

	var wg sync.WaitGroup

	for i, n := range nodes {
		wg.Go(func() { failures[i] = n.run(ctx, do) })
	}

	wg.Wait()

	return errors.Join(failures...)
}

// run runs do for the node, and adds the name of the node to a failure.
func (n Node) run(ctx context.Context, do func(ctx context.Context, n Node) error) error {
	if err := do(n.Forward(ctx), n); err != nil {
		return &NodeFailure{node: n.Name, err: err}
	}

	return nil
}
