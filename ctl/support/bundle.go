// SPDX-License-Identifier: Apache-2.0

package support

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/seed-59268b81/talos/ctl/session"
)

// bundle is a zip file that several workers write to.
type bundle struct {
	mu    sync.Mutex
	zip   *zip.Writer
	files int
}

func newBundle(w io.Writer) *bundle { return &bundle{zip: zip.NewWriter(w)} }

func (b *bundle) add(name string, content []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()

	w, err := b.zip.Create(name)
	if err != nil {
		return err
	}

	b.files++
	_, err = w.Write(content)

	return err
}

func (b *bundle) close() error { return b.zip.Close() }

// maxItem bounds a file of the bundle: of a log that is longer, its beginning is kept.
const maxItem = 128 << 20

// collect puts the node's files in the bundle. What could not be had is in errors.txt.
func collect(ctx context.Context, n session.Node, contents []session.BundleContents, b *bundle, workers int, progress io.Writer) error {
	var files []session.BundleFile

	for _, of := range contents {
		more, err := of(ctx, n) // a node that is dead says so once
		if err != nil {
			return err
		}

		files = append(files, more...)
	}

	var (
		all      errgroup.Group
		mu       sync.Mutex
		problems strings.Builder
	)

	all.SetLimit(workers)

	for _, next := range files {
		all.Go(func() error {
			content, err := read(ctx, n, next)

			mu.Lock()
			fmt.Fprintf(progress, "%s: %s\n", n.Name, next.Name)

			if err != nil {
				fmt.Fprintf(&problems, "%s: %s\n", next.Name, err)
			}
			mu.Unlock()

			if len(content) == 0 && err != nil {
				return nil
			}

			return b.add(session.PlainName(n.Name)+"/"+next.Name, content)
		})
	}

	broken := all.Wait()
	if problems.Len() > 0 && broken == nil {
		broken = b.add(session.PlainName(n.Name)+"/errors.txt", []byte(problems.String()))
	}

	if broken != nil {
		return fmt.Errorf("write support bundle: %w", broken)
	}

	return ctx.Err()
}

// read has what could be had, also if there is an error.
func read(ctx context.Context, n session.Node, file session.BundleFile) ([]byte, error) {
	return session.Bounded(ctx, n, func(n session.Node, ctx context.Context) ([]byte, error) {
		var content bytes.Buffer

		err := file.Write(ctx, n, &limited{w: &content, left: maxItem})

		return content.Bytes(), err
	})
}

// limited takes no more than it has left.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.w.Write(p[:min(len(p), l.left)])
	l.left -= n

	if err == nil && n < len(p) {
		err = fmt.Errorf("longer than %d MiB: the rest is left out", maxItem>>20)
	}

	return n, err
}
