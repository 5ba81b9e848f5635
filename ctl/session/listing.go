// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// answerTimeout is the timeout of calls that a node answers from memory.
const answerTimeout = 30 * time.Second

var errNoAnswer = fmt.Errorf("no answer in %s", answerTimeout)

// Column is one column of a table of T.
type Column[T any] struct {
	name string
	cell func(T) string
}

// Col returns a column by its name in the header.
func Col[T any](name string, cell func(T) string) Column[T] { return Column[T]{name: name, cell: cell} }

// Listing prints the items that nodes list, as they answer: as rows of a table, or as one document for each item.
type Listing[T any] struct {
	columns   []Column[T]
	Table     *Table
	encode    Encoder
	documents *Documents
}

// NewListing returns a listing that prints to the output of the command, in the format of --output.
func NewListing[T any](s *Session, cmd *cobra.Command, columns []Column[T]) (*Listing[T], error) {
	encode, err := s.Encoder(cmd)

	return &Listing[T]{
		columns: columns, encode: encode,
		Table:     NewTable(cmd.OutOrStdout(), header(columns)...),
		documents: NewDocuments(cmd.OutOrStdout(), s.Separator()),
	}, err
}

// Print prints the items of a node.
func (l *Listing[T]) Print(node string, items ...T) error {
	if l.encode == nil {
		return l.Table.Print(rows(l.columns, node, items)...)
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

	return l.documents.Write(contents...)
}

func header[T any](columns []Column[T]) []string {
	header := []string{"NODE"}
	for _, c := range columns {
		header = append(header, c.name)
	}

	return header
}

func rows[T any](columns []Column[T], node string, items []T) [][]string {
	rows := make([][]string, len(items))

	for i, item := range items {
		rows[i] = []string{node}
		for _, c := range columns {
			rows[i] = append(rows[i], c.cell(item))
		}
	}

	return rows
}

// List prints the items that fetch returns for each node.
func List[T any](
	s *Session, cmd *cobra.Command, columns []Column[T], fetch func(n Node, ctx context.Context) ([]T, error),
) error {
	out, err := NewListing(s, cmd, columns)
	if err != nil {
		return err
	}

	return s.Tabulate(cmd, out.Table, func(ctx context.Context, n Node) error {
		items, err := Bounded(ctx, n, fetch)
		if err != nil {
			return err
		}

		return out.Print(n.Name, items...)
	})
}

// Bounded is fetch with a timeout: a node that is down does not block the command.
func Bounded[T any](ctx context.Context, n Node, fetch func(n Node, ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()

	answer, err := fetch(n, ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) && !errors.Is(err, errNoAnswer) {
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
	}

	return answer, err
}

// ListCommand completes a command without arguments that lists the items that fetch returns for each node.
func ListCommand[T any](
	s *Session, cmd *cobra.Command, columns []Column[T], fetch func(n Node, ctx context.Context) ([]T, error),
) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return List(s, cmd, columns, fetch) }

	return s.OutputFlag(s.Flags(cmd))
}

// Single returns fetch as a function that returns a list of one item.
func Single[T any](fetch func(n Node, ctx context.Context) (T, error)) func(n Node, ctx context.Context) ([]T, error) {
	return func(n Node, ctx context.Context) ([]T, error) {
		item, err := fetch(n, ctx)
		if err != nil {
			return nil, err
		}

		return []T{item}, nil
	}
}
