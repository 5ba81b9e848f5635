// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"io"
	"strings"
)

// BundleFile is one file of a node in a support bundle.
type BundleFile struct {
	Name  string
	Write func(ctx context.Context, n Node, w io.Writer) error
}

// BundleContents returns the files of a topic in a support bundle. It fails only if the node does not answer at all.
type BundleContents func(ctx context.Context, n Node) ([]BundleFile, error)

// TableFile is a file with a table of what fetch returns.
func TableFile[T any](name string, columns []Column[T], fetch func(n Node, ctx context.Context) ([]T, error)) BundleFile {
	return BundleFile{name, func(ctx context.Context, n Node, w io.Writer) error {
		found, err := fetch(n, ctx)
		if err != nil {
			return err
		}

		return NewTable(w, header(columns)...).Print(rows(columns, n.Name, found)...)
	}}
}

// PlainName returns a name without the characters that have a meaning in paths.
func PlainName(name string) string {
	return strings.NewReplacer("/", "_", "\\", "_", ":", "_").Replace(name)
}
