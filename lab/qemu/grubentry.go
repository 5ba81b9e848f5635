// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
)

const (
	// grubEntry has the commands with which GRUB starts the entry of an image, one of them linux with the arguments, each in quotes
	// (package loader).
	grubEntry    = "/A/boot.cfg"
	maxGRUBEntry = 64 << 10
)

// addGRUB changes the arguments of GRUB's entry. It returns false if there is none, or the arguments stay the same.
func (e Entry) addGRUB(image string) (added bool, err error) {
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	info, err := file.Stat()
	if err != nil {
		return false, err
	}

	table, err := gpt.Read(file, uint64(info.Size()), sector)
	if errors.Is(err, gpt.ErrNoTable) {
		return false, nil
	}

	if err != nil {
		return false, err
	}

	p, there := table.Find(layout.PartitionBoot)
	if !there {
		return false, nil
	}

	size := int64(p.Sectors() * sector)

	boot, err := fat.Open(part{io.NewSectionReader(file, int64(p.First*sector), size), file, int64(p.First * sector)}, size, time.Now())
	if err != nil {
		return false, nil // another system's
	}

	text, err := boot.ReadFile(grubEntry, maxGRUBEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, err
	}

	entry, ok := e.grubText(string(text))
	if !ok {
		return false, nil
	}

	return true, boot.Create(fat.File{Path: grubEntry, Size: int64(len(entry)), Body: strings.NewReader(entry)})
}

// grubText returns the commands with the arguments of the entry. It returns false if they stay the same.
func (e Entry) grubText(text string) (entry string, ok bool) {
	var b strings.Builder

	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "linux ") {
			var words []string

			words, ok = e.change(strings.Fields(line), "'pti=on'", "'pti=off'", func(arg string) string {
				return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
			})
			line = strings.Join(words, " ") + "\n"
		}

		fmt.Fprint(&b, line)
	}

	return b.String(), ok
}

// part is a partition of an image.
type part struct {
	*io.SectionReader
	image  *os.File
	offset int64
}

// WriteAt implements io.WriterAt.
func (p part) WriteAt(b []byte, offset int64) (int, error) {
	if offset < 0 || offset+int64(len(b)) > p.Size() {
		return 0, fmt.Errorf("%d bytes at %d: the partition has %d bytes", len(b), offset, p.Size())
	}

	return p.image.WriteAt(b, p.offset+offset)
}

// Sync implements fat.Device: the image is a copy, which is not needed after a crash of this computer.
func (part) Sync() error { return nil }
