// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// prefetchPart is what one processor reads at a time: a multiple of the root image's block.
const prefetchPart = 1 << 20

// lines is the part of a Go program that tells which line of the source an address belongs to: two fifths of the
// program, of which little is needed before something goes wrong.
const lines = ".gopclntab"

// Prefetch reads a program of the root image into the page cache on all processors, but for its table of lines. A
// program that is read by its own page faults is unpacked by one processor, bit by bit, while it waits; a large one
// starts in half the time and less if it is fetched first.
func Prefetch(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("prefetch: %w", err)
	}
	defer f.Close()

	parts, err := needed(f)
	if err != nil {
		return fmt.Errorf("prefetch %s: %w", path, err)
	}

	var (
		offsets = make(chan part)
		readers guard.Group
	)

	for range runtime.NumCPU() {
		readers.Go(func() error {
			// Read, and not only advise: the kernel takes advice for 128 KiB at a time at most.
			b := make([]byte, prefetchPart)

			var failed error

			for p := range offsets { // to the end: who gives them out waits
				if _, err := f.ReadAt(b[:p.end-p.start], p.start); err != nil && !errors.Is(err, io.EOF) {
					failed = fmt.Errorf("prefetch: %w", err)
				}
			}

			return failed
		})
	}

	for _, p := range parts {
		for off := p.start; off < p.end; off += prefetchPart {
			offsets <- part{off, min(off+prefetchPart, p.end)}
		}
	}

	close(offsets)

	return readers.Wait()
}

// part of a file, from an offset to before another.
type part struct{ start, end int64 }

// needed are the parts of a program that it takes to start.
func needed(f *os.File) ([]part, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}

	program, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}

	size := info.Size()

	s := program.Section(lines)
	if s == nil || s.Offset > uint64(size) || s.FileSize > uint64(size)-s.Offset { // a size
		return []part{{0, size}}, nil
	}

	start := int64(s.Offset) // at most the size

	return []part{{0, start}, {start + int64(s.FileSize), size}}, nil // at most the size
}
