// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Put writes a state to a file that has the content of the disk before the record, and the size of the disk, so that a machine can be started
// from it. What a discard may have left as anything stays as it is in the file. Zeros become holes.
func (s *State) Put(f *os.File) error {
	return s.runs(0, s.Size(), func(at int64, r run) error {
		var err error

		switch {
		case r.from == below || r.from == anything:
		case r.from == zeros:
			err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, r.length)
		default:
			_, err = io.Copy(io.NewOffsetWriter(f, at), io.NewSectionReader(s, at, r.length))
		}

		if err != nil {
			return fmt.Errorf("write %d bytes of a state at %d: %w", r.length, at, err)
		}

		return nil
	})
}
