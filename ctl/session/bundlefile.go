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

// BundleContents are the files that a topic has in a support bundle. An error is of a node that cannot be asked anything.
type BundleContents func(ctx context.Context, n Node) ([]BundleFile, error)

// TableFile is a file with the table of what the node answers to fetch.
func TableFile[T any](name string, columns []Column[T], fetch func(n Node, ctx context.Context) ([]T, error)) BundleFile {
	return BundleFile{name, func(ctx context.Context, n Node, w io.Writer) error {
		found, err := fetch(n, ctx)
		if err != nil {
			return err
		}

		return NewTable(w, header(columns)...).Print(rows(columns, n.Name, found)...)
	}}
}

// PlainName is a name without what has a meaning in paths.
func PlainName(name string) string {
	return strings.NewReplacer("/", "_", "\\", "_", ":", "_").Replace(name)
}
