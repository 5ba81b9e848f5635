// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/durable"
)

const (
	recordFile    = "record.json"
	segmentSuffix = ".log"
)

// folders returns the folders of boots in dir, oldest first. Other names are ignored.
func folders(dir string) ([]string, error) { return numbered(dir, "") }

// segments returns the segments of a boot, oldest first.
func segments(folder string) ([]string, error) { return numbered(folder, segmentSuffix) }

// numbered returns the paths of entries that are named by a number and a suffix, in order.
func numbered(dir, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}

	var out []string

	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && len(name) == 8 && number(name) > 0 {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}

	slices.Sort(out)

	return out, nil
}

// number returns the number in a name, or 0.
func number(path string) int {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	n, _ := strconv.Atoi(name)

	return n
}

// after returns the path in dir that follows the last of paths.
func after(dir string, paths []string, suffix string) string {
	n := 1
	if len(paths) > 0 {
		n = number(paths[len(paths)-1]) + 1
	}

	return filepath.Join(dir, fmt.Sprintf("%08d%s", n, suffix))
}

// readRecord returns the record of a boot. Without a readable record, only the number is known.
func readRecord(folder string) Boot {
	b := Boot{Number: number(folder)}

	f, err := os.Open(filepath.Join(folder, recordFile))
	if err != nil {
		return b
	}
	defer f.Close()

	if err := json.NewDecoder(io.LimitReader(f, 64<<10)).Decode(&b); err != nil {
		return Boot{Number: b.Number}
	}

	return b
}

// writeRecord replaces the record: after a power cut it is the old one or the new one.
func writeRecord(folder string, b Boot) error {
	text, err := json.Marshal(b)
	if err == nil {
		err = durable.Write(filepath.Join(folder, recordFile), text, 0o600)
	}

	if err != nil {
		return fmt.Errorf("record of boot %s: %w", b.ID, err)
	}

	return nil
}

// lastTime returns the time of the last line of a boot; zero when there is none.
func lastTime(folder string) time.Time {
	paths, err := segments(folder)
	if err != nil {
		return time.Time{}
	}

	// The last segment may have been cut off before its first record.
	for _, path := range slices.Backward(paths) {
		var last time.Time

		err := eachLine(path, func(l line) error {
			last = l.time

			return nil
		})
		if err == nil && !last.IsZero() {
			return last
		}
	}

	return time.Time{}
}

// eachLine calls fn for each line of a segment, up to the first incomplete record.
func eachLine(path string, fn func(line) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()

	for frames := newFrames(f); ; {
		l, err := frames.next()

		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errTorn):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", path, err)
		}

		if err := fn(l); err != nil {
			return err
		}
	}
}

func sizeOf(folder string) int64 {
	var sum int64

	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}

	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}

	return sum
}
