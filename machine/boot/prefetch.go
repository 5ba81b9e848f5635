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

// prefetchPart is how much one processor reads at a time: a multiple of the root image's block size.
const prefetchPart = 1 << 20

// lines is the section of a Go program that maps addresses to source lines: two fifths of the program, hardly used before an
// error.
const lines = ".gopclntab"

// Prefetch reads a program of the root image, except its table of lines, into the page cache on all processors. Otherwise page
// faults of the program unpack it step by step on one processor. A large program starts in less than half the time.
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
			// Read instead of fadvise: the kernel reads at most 128 KiB ahead for one call.
			b := make([]byte, prefetchPart)

			var failed error

			for p := range offsets { // all of them: the sender blocks
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

// part is a range of a file, without its end.
type part struct{ start, end int64 }

// needed returns the parts that a program reads when it starts.
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
	if s == nil || s.Offset > uint64(size) || s.FileSize > uint64(size)-s.Offset {
		return []part{{0, size}}, nil
	}

	start := int64(s.Offset)

	return []part{{0, start}, {start + int64(s.FileSize), size}}, nil
}
