// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// prefetchPart is what one processor reads at a time: a multiple of the root image's block.
const prefetchPart = 1 << 20

// Prefetch reads a program of the root image into the page cache on all processors. A program that is read
// by its own page faults is unpacked by one processor, bit by bit, while it waits; a large one starts in half
// the time and less if it is fetched first.
func Prefetch(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("prefetch: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only

	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("prefetch: %w", err)
	}

	var (
		offsets = make(chan int64)
		wg      sync.WaitGroup
		errs    = make([]error, runtime.NumCPU())
	)

	for i := range errs {
		wg.Go(func() {
			// Read, and not only advise: the kernel takes advice for 128 KiB at a time at most.
			part := make([]byte, prefetchPart)

			for off := range offsets {
				if _, err := f.ReadAt(part, off); err != nil && !errors.Is(err, io.EOF) && errs[i] == nil {
					errs[i] = fmt.Errorf("prefetch: %w", err)
				}
			}
		})
	}

	for off := int64(0); off < info.Size(); off += prefetchPart {
		offsets <- off
	}

	close(offsets)
	wg.Wait()

	return errors.Join(errs...)
}
