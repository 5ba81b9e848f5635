// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Boots returns the current boot and the earlier ones that are kept, the newest first.
func (j *Journal) Boots() ([]Boot, error) {
	paths, err := j.folders()
	if err != nil {
		return nil, err
	}

	boots := make([]Boot, 0, len(paths))
	for _, path := range paths {
		boots = append(boots, readRecord(path))
	}

	return boots, nil
}

// folders returns the folders of the boots, the newest first.
func (j *Journal) folders() ([]string, error) {
	j.mu.Lock()
	dir := j.dir
	j.mu.Unlock()

	if dir == "" {
		return nil, ErrClosed
	}

	paths, err := folders(dir)
	if err != nil {
		return nil, fmt.Errorf("list the boots: %w", err)
	}

	slices.Reverse(paths)

	return paths, nil
}

func (j *Journal) segments(boot int) ([]string, error) {
	paths, err := j.folders()
	if err != nil {
		return nil, err
	}

	if boot > 0 || -boot >= len(paths) || -boot < 0 {
		return nil, fmt.Errorf("boot %d: %w", boot, ErrNoBoot)
	}

	out, err := segments(paths[-boot])
	if err != nil {
		return nil, fmt.Errorf("boot %d: %w", boot, err)
	}

	return out, nil
}

// IDs returns the ids of the logs of a boot, sorted. Boot 0 is the current one, -1 the one before, and so on.
func (j *Journal) IDs(ctx context.Context, boot int) ([]string, error) {
	paths, err := j.segments(boot)
	if err != nil {
		return nil, err
	}

	var ids []string

	err = each(ctx, paths, func(l line) error {
		if i, found := slices.BinarySearch(ids, l.id); !found {
			ids = slices.Insert(ids, i, l.id)
		}

		return nil
	})

	return ids, err
}

// chunk is the approximate size of what a reader gets at once; see chunk in package logring.
const chunk = 24 << 10

// Read sends the last tail lines (all when negative) of a log of a boot to fn in chunks, each line with its newline. It holds one chunk
// in memory. When ctx is done, Read returns early, without an error.
func (j *Journal) Read(ctx context.Context, boot int, id string, tail int, fn func([]byte) error) error {
	paths, err := j.segments(boot)
	if err != nil {
		return err
	}

	total := 0

	err = each(ctx, paths, func(l line) error {
		if l.id == id {
			total++
		}

		return nil
	})
	if err != nil || ctx.Err() != nil {
		return err
	}

	if total == 0 {
		return fmt.Errorf("boot %d, log %q: %w", boot, id, ErrNoLog)
	}

	skip := 0
	if tail >= 0 {
		skip = max(0, total-tail)
	}

	var buf []byte

	err = each(ctx, paths, func(l line) error {
		if l.id != id {
			return nil
		}

		if skip > 0 {
			skip--

			return nil
		}

		buf = append(append(buf, l.text...), '\n')
		if len(buf) < chunk {
			return nil
		}

		err := fn(buf)
		buf = buf[:0]

		return err
	})
	if err != nil || len(buf) == 0 || ctx.Err() != nil {
		return err
	}

	return fn(buf)
}

// errDone ends each early.
var errDone = errors.New("done")

// each calls fn for each line of the segments. A segment that was removed since they were listed is skipped.
func each(ctx context.Context, paths []string, fn func(line) error) error {
	for _, path := range paths {
		err := eachLine(path, func(l line) error {
			if ctx.Err() != nil {
				return errDone
			}

			return fn(l)
		})

		switch {
		case errors.Is(err, errDone):
			return nil
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		}
	}

	return nil
}
