// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/seed-59268b81/talos/sys/fat"
)

// roomSpare is for the clusters that files do not fill, the text of an entry and what the folders grow by, in bytes.
const roomSpare = 256 << 10

// Fits implements Loader.
func (l SystemdBoot) Fits(s System, without ...string) error {
	all, err := l.confs()
	if err != nil {
		return fmt.Errorf("find room for %s: %w", s.Version, err)
	}

	var files []string

	for _, id := range without {
		uki := id

		if i := slices.IndexFunc(all, func(c conf) bool { return c.id == id }); i >= 0 {
			files, uki = append(files, path.Join(confDir, id)), all[i].uki
		}

		files = append(files, path.Join(ukiDir, uki))
	}

	return fits(l.ESP, s.Version, s.UKI.Size, files)
}

// Fits implements Loader.
func (l GRUB) Fits(s System, without ...string) error {
	entries, err := l.Entries()
	if err != nil {
		return fmt.Errorf("find room for %s: %w", s.Version, err)
	}

	var files []string // those of slots that are free then, which may have what an interrupted call has left

	for _, slot := range slots {
		if !slices.Contains(without, slot) && slices.ContainsFunc(entries, func(e Entry) bool { return e.ID == slot }) {
			continue
		}

		files = append(files, file(slot, bootFile), file(slot, initramfsFile), file(slot, kernelFile))
	}

	if len(files) == 0 {
		return fmt.Errorf("%w: there are %d entries, which is the limit", fat.ErrNoSpace, len(slots))
	}

	return fits(l.Boot, s.Version, s.Kernel.Size+s.Initramfs.Size, files)
}

// fits returns an error if there is no space for as many bytes without some files.
func fits(f *fat.FS, version string, size int64, without []string) error {
	free := f.Free()

	for _, name := range without {
		_, n, err := f.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}

		if err != nil {
			return fmt.Errorf("find room for %s: %w", version, err)
		}

		free += n
	}

	if size += roomSpare; size > free {
		return fmt.Errorf("%w for %s: %d bytes are needed, and %d would be free without the entries that can be removed", fat.ErrNoSpace, version, size, free)
	}

	return nil
}
