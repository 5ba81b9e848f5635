// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// answerTimeout bounds a question that a node answers from what it has at hand.
const answerTimeout = 30 * time.Second

var errNoAnswer = fmt.Errorf("no answer in %s", answerTimeout)

// column is one column of a table of things.
type column[T any] struct {
	name string
	cell func(T) string
}

// listing prints what nodes list, as they answer: as rows of a table, or as one document for each thing.
type listing[T any] struct {
	columns   []column[T]
	table     *table
	encode    encoder
	documents documents
}

func newListing[T any](cmd *cobra.Command, c *connection, columns []column[T]) (*listing[T], error) {
	header := []string{"NODE"}
	for _, column := range columns {
		header = append(header, column.name)
	}

	encode, err := c.encoder(cmd)

	return &listing[T]{
		columns: columns, encode: encode,
		table:     newTable(cmd.OutOrStdout(), header...),
		documents: documents{w: cmd.OutOrStdout(), separator: c.separator()},
	}, err
}

func (l *listing[T]) print(node string, items ...T) error {
	if l.encode == nil {
		return l.table.print(l.rows(node, items)...)
	}

	contents := make([][]byte, len(items))

	for i, item := range items {
		value := plainItem(item)
		value["node"] = node

		var err error

		if contents[i], err = l.encode(value); err != nil {
			return err
		}
	}

	return l.documents.write(contents...)
}

func (l *listing[T]) rows(node string, items []T) [][]string {
	rows := make([][]string, len(items))

	for i, item := range items {
		rows[i] = []string{node}
		for _, c := range l.columns {
			rows[i] = append(rows[i], c.cell(item))
		}
	}

	return rows
}

// list prints what each node answers to fetch.
func list[T any](
	cmd *cobra.Command, c *connection, columns []column[T], fetch func(n node, ctx context.Context) ([]T, error),
) error {
	out, err := newListing(cmd, c, columns)
	if err != nil {
		return err
	}

	return c.tabulate(cmd, out.table, func(ctx context.Context, n node) error {
		items, err := bounded(ctx, n, fetch)
		if err != nil {
			return err
		}

		return out.print(n.name, items...)
	})
}

// bounded is fetch with an end, so that a node that is dead costs no more than its own answer.
func bounded[T any](ctx context.Context, n node, fetch func(n node, ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()

	answer, err := fetch(n, ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
	}

	return answer, err
}

// listCommand completes a command that only lists, and has no flags but those of all such commands.
func listCommand[T any](
	c *connection, cmd *cobra.Command, columns []column[T], fetch func(n node, ctx context.Context) ([]T, error),
) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return list(cmd, c, columns, fetch) }

	c.flags(cmd)
	c.outputFlag(cmd)

	return cmd
}

// single makes a list of the one thing that a call returns.
func single[T any](fetch func(n node, ctx context.Context) (T, error)) func(n node, ctx context.Context) ([]T, error) {
	return func(n node, ctx context.Context) ([]T, error) {
		item, err := fetch(n, ctx)
		if err != nil {
			return nil, err
		}

		return []T{item}, nil
	}
}
