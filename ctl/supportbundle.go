// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
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

// item is one file of a node in the bundle.
type item struct {
	name    string
	collect func(ctx context.Context, n node, w io.Writer) error
}

// maxItem bounds a file of the bundle: of a log that is longer, its beginning is kept.
const maxItem = 128 << 20

// collect puts the node's files in the bundle. What could not be had is in errors.txt.
func collect(ctx context.Context, n node, b *bundle, workers int, progress io.Writer) error {
	// A node that is dead says so once.
	items, err := n.supportItems(ctx)
	if err != nil {
		return err
	}

	queue := make(chan item)

	var (
		all      sync.WaitGroup
		mu       sync.Mutex
		problems strings.Builder
		broken   error
	)

	for range workers {
		all.Go(func() {
			for next := range queue {
				content, err := next.read(ctx, n)

				mu.Lock()
				fmt.Fprintf(progress, "%s: %s\n", n.name, next.name)

				if err != nil {
					fmt.Fprintf(&problems, "%s: %s\n", next.name, err)
				}
				mu.Unlock()

				if len(content) == 0 && err != nil {
					continue
				}

				if err := b.add(fileName(n.name)+"/"+next.name, content); err != nil {
					mu.Lock()
					broken = err
					mu.Unlock()
				}
			}
		})
	}

	for _, next := range items {
		queue <- next
	}

	close(queue)
	all.Wait()

	if problems.Len() > 0 && broken == nil {
		broken = b.add(fileName(n.name)+"/errors.txt", []byte(problems.String()))
	}

	if broken != nil {
		return fmt.Errorf("write support bundle: %w", broken)
	}

	return ctx.Err()
}

// read has what could be had, also if there is an error.
func (i item) read(ctx context.Context, n node) ([]byte, error) {
	return bounded(ctx, n, func(n node, ctx context.Context) ([]byte, error) {
		var content bytes.Buffer

		err := i.collect(ctx, n, &limited{w: &content, left: maxItem})

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

// fileName is a name without what has a meaning in paths.
func fileName(name string) string {
	return strings.NewReplacer("/", "_", "\\", "_", ":", "_").Replace(name)
}
