// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// Source is bytes to write. Open is called once or more.
type Source struct {
	Size int64
	// SHA256 is the digest in hexadecimal; empty if it is not known before.
	SHA256 string
	Open   func() (io.ReadCloser, error)
}

// Bytes returns a source of bytes in memory.
func Bytes(b []byte) Source {
	sum := sha256.Sum256(b)

	return Source{Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:]), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b)), nil
	}}
}

// Named returns a source of a file of this computer.
func Named(path string) (Source, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a file")}
	}

	if err != nil {
		return Source{}, err
	}

	return Source{Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}, nil
}

// File is a file of a boot partition.
type File struct {
	Path string
	Source
}

// Content is what is written to the disk.
type Content struct {
	// EFI and Boot are the files of these partitions.
	EFI, Boot []File
	// GRUB is what a BIOS starts; nil if none does.
	GRUB *GRUB
	// ImageCache is the raw content of its partition.
	ImageCache *Source
	// Meta is the content of META; nil is an empty one.
	Meta *Source
	// Serial is the number of the file systems, and Time that of their files.
	Serial uint32
	Time   time.Time
}

// check returns an error if the content does not fit the plan.
func (c Content) check(t *gpt.Table) error {
	for label, files := range map[string][]File{layout.PartitionEFI: c.EFI, layout.PartitionBoot: c.Boot} {
		size := int64(0)
		for _, f := range files {
			size += f.Size
		}

		if err := fits(t, label, size); err != nil {
			return err
		}
	}

	for label, source := range c.raw() {
		if err := fits(t, label, source.Size); err != nil {
			return err
		}
	}

	return nil
}

// raw returns the contents that are not file systems.
func (c Content) raw() map[string]*Source {
	out := map[string]*Source{}

	for label, s := range map[string]*Source{layout.PartitionMeta: c.Meta, layout.PartitionImageCache: c.ImageCache} {
		if s != nil {
			out[label] = s
		}
	}

	if c.GRUB != nil {
		out[layout.PartitionBIOS] = &c.GRUB.Core
	}

	return out
}

func fits(t *gpt.Table, label string, size int64) error {
	p, there := t.Find(label)

	switch {
	case size == 0:
		return nil
	case !there:
		return fmt.Errorf("there is content for a partition %s, which is not planned", label)
	case uint64(size) > p.Sectors()*t.SectorSize:
		return fmt.Errorf("the content of %s has %d bytes, and the partition %d", label, size, p.Sectors()*t.SectorSize)
	default:
		return nil
	}
}

// verify reads content and compares it with a digest.
func verify(name, want string, r io.Reader) error {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return fmt.Errorf("read back: %w", err)
	}

	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s: has the digest %s, want %s: the source or the disk is damaged", name, got, want)
	}

	return nil
}
