// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/seed-59268b81/talos/lab"
)

func (s sizeFlags) size(suffix, disk string) (lab.Size, error) {
	memory, err := bytesOf("--memory"+suffix, s.memory, 256<<20)
	if err != nil {
		return lab.Size{}, err
	}

	space, err := bytesOf("--disk", disk, 1<<30)
	if err != nil {
		return lab.Size{}, err
	}

	if s.cpus < 1 {
		return lab.Size{}, fmt.Errorf("--cpus%s %d: a machine has at least one", suffix, s.cpus)
	}

	return lab.Size{CPUs: s.cpus, MemoryMiB: int(memory >> 20), DiskGiB: int(space >> 30)}, nil
}

// extra returns the sizes of the additional disks, in GiB.
func (f *createFlags) extra() ([]int, error) {
	if f.extraDisks < 0 {
		return nil, fmt.Errorf("--extra-disks %d: want none or more", f.extraDisks)
	}

	size, err := bytesOf("--extra-disks-size", f.extraDiskSize, 1<<30)
	if err != nil {
		return nil, err
	}

	return slices.Repeat([]int{int(size >> 30)}, f.extraDisks), nil
}

// bytesOf parses an amount such as 4GiB. A number without a unit is in MiB.
func bytesOf(flag, text string, least uint64) (uint64, error) {
	written := text

	if text != "" && strings.Trim(text, "0123456789") == "" {
		text += "MiB"
	}

	n, err := humanize.ParseBytes(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q: want an amount such as 4GiB or 4096MiB", flag, written)
	}

	if n < least {
		return 0, fmt.Errorf("%s %q: want at least %s", flag, written, humanize.IBytes(least))
	}

	return n, nil
}
