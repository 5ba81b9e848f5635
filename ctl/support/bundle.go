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

// bundle is a zip file. Several goroutines may add files.
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

// maxItem is the largest size of a file of the bundle, in bytes. Of a longer log the beginning is kept.
const maxItem = 128 << 20

// collect adds the node's files to the bundle. The file errors.txt has the failures.
func collect(ctx context.Context, n session.Node, contents []session.BundleContents, b *bundle, workers int, progress io.Writer) error {
	var files []session.BundleFile

	for _, of := range contents {
		more, err := of(ctx, n) // a node that is down fails once, not for each file
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

// read returns the content of the file. With an error, it returns the part that could be read.
func read(ctx context.Context, n session.Node, file session.BundleFile) ([]byte, error) {
	return session.Bounded(ctx, n, func(n session.Node, ctx context.Context) ([]byte, error) {
		var content bytes.Buffer

		err := file.Write(ctx, n, &limited{w: &content, left: maxItem})

		return content.Bytes(), err
	})
}

// limited writes no more bytes than are left.
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
