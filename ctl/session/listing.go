// SPDX-License-Identifier: Apache-2.0

package session

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

// Column is one column of a table of things.
type Column[T any] struct {
	name string
	cell func(T) string
}

// Col is a column, by its name in the header.
func Col[T any](name string, cell func(T) string) Column[T] { return Column[T]{name: name, cell: cell} }

// Listing prints what nodes list, as they answer: as rows of a table, or as one document for each thing.
type Listing[T any] struct {
	columns   []Column[T]
	Table     *Table
	encode    Encoder
	documents *Documents
}

// NewListing returns a listing to the output of the command, in the form that --output says.
func NewListing[T any](s *Session, cmd *cobra.Command, columns []Column[T]) (*Listing[T], error) {
	encode, err := s.Encoder(cmd)

	return &Listing[T]{
		columns: columns, encode: encode,
		Table:     NewTable(cmd.OutOrStdout(), header(columns)...),
		documents: NewDocuments(cmd.OutOrStdout(), s.Separator()),
	}, err
}

// Print prints what a node lists.
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

// List prints what each node answers to fetch.
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

// Bounded is fetch with an end, so that a node that is dead costs no more than its own answer.
func Bounded[T any](ctx context.Context, n Node, fetch func(n Node, ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()

	answer, err := fetch(n, ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) && !errors.Is(err, errNoAnswer) {
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
	}

	return answer, err
}

// ListCommand completes a command that takes no arguments and lists what each node answers to fetch.
func ListCommand[T any](
	s *Session, cmd *cobra.Command, columns []Column[T], fetch func(n Node, ctx context.Context) ([]T, error),
) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return List(s, cmd, columns, fetch) }

	return s.OutputFlag(s.Flags(cmd))
}

// Single makes a list of the one thing that a call returns.
func Single[T any](fetch func(n Node, ctx context.Context) (T, error)) func(n Node, ctx context.Context) ([]T, error) {
	return func(n Node, ctx context.Context) ([]T, error) {
		item, err := fetch(n, ctx)
		if err != nil {
			return nil, err
		}

		return []T{item}, nil
	}
}
