// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/spf13/cobra"
)

// Each runs do for every node at once. The error holds the failures of all nodes.
func (s *Session) Each(cmd *cobra.Command, do func(ctx context.Context, n Node) error) error {
	nodes, closeAll, err := s.Targets()
	if err != nil {
		return err
	}

	defer closeAll()

	return atOnce(cmd.Context(), nodes, do)
}

// Tabulate is each for commands that print a table, whose rows wait a moment for those of the other nodes.
func (s *Session) Tabulate(cmd *cobra.Command, t *Table, do func(ctx context.Context, n Node) error) error {
	nodes, closeAll, err := s.Targets()
	if err != nil {
		return err
	}

	defer closeAll()

	t.expect(nodes)

	return atOnce(cmd.Context(), nodes, func(ctx context.Context, n Node) error {
		err := do(ctx, n)
		if printed := t.answered(n); err == nil {
			err = printed
		}

		return err
	})
}

func atOnce(ctx context.Context, nodes []Node, do func(ctx context.Context, n Node) error) error {
	failures := make([]error, len(nodes))

	var wg sync.WaitGroup

	for i, n := range nodes {
		wg.Go(func() {
			if err := do(n.Forward(ctx), n); err != nil {
				failures[i] = &NodeFailure{node: n.Name, err: err}
			}
		})
	}

	wg.Wait()

	return errors.Join(slices.DeleteFunc(failures, func(err error) bool { return err == nil })...)
}

// InTurn is each for commands that work on one node after the other.
func (s *Session) InTurn(cmd *cobra.Command, do func(ctx context.Context, n Node) error) error {
	nodes, closeAll, err := s.Targets()
	if err != nil {
		return err
	}

	defer closeAll()

	var failures []error

	for _, n := range nodes {
		if err := do(n.Forward(cmd.Context()), n); err != nil {
			failures = append(failures, &NodeFailure{node: n.Name, err: err})
		}
	}

	return errors.Join(failures...)
}

// One is each for commands that make sense for one node only.
func (s *Session) One(cmd *cobra.Command, do func(ctx context.Context, n Node) error) error {
	nodes, closeAll, err := s.Targets()
	if err != nil {
		return err
	}

	defer closeAll()

	if len(nodes) > 1 {
		return UsageError(cmd, "%s works on one node, and there are %d: name one with --nodes", cmd.CommandPath(), len(nodes))
	}

	if err := do(nodes[0].Forward(cmd.Context()), nodes[0]); err != nil {
		return &NodeFailure{node: nodes[0].Name, err: err}
	}

	return nil
}
