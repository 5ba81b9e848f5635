// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// Device is an open disk that nothing else uses, or an image file.
type Device interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
}

// Write installs: it carries out the plan. What was on the disk is lost, from the first write on. What starts the disk comes last, so that firmware
// does not start an interrupted installation.
func Write(ctx context.Context, d Device, p *Plan, c Content, progress func(text string)) error {
	if progress == nil {
		progress = func(string) {}
	}

	w := &writing{ctx: ctx, disk: d, table: p.Table, fresh: p.Fresh, content: c, progress: progress}

	err := c.check(p.Table)
	if err == nil {
		err = w.place()
	}

	if err != nil {
		return fmt.Errorf("install to %s: %w", p.Disk, err)
	}

	for _, step := range []struct {
		text string
		do   func() error
	}{
		{"wipe the ends of the disk", w.wipe},
		{"write the partition table", func() error { return p.unfinished().Write(d) }},
		{"write " + layout.PartitionBoot, func() error { return w.files(layout.PartitionBoot, c.Boot) }},
		{"write " + layout.PartitionBIOS, w.grub},
		{"write " + layout.PartitionMeta, w.meta},
		{"write " + layout.PartitionImageCache, func() error { return w.raw(layout.PartitionImageCache, c.ImageCache) }},
		{"write " + layout.PartitionEFI, func() error { return w.files(layout.PartitionEFI, c.EFI) }},
		{"write the boot code", w.start},
		{"make " + layout.PartitionMeta + " visible", func() error { return p.Table.Write(d) }},
		{"remove the mark of the installation", w.unmark},
	} {
		err := ctx.Err()
		if err == nil {
			progress(step.text)
			err = step.do()
		}

		if err != nil {
			return fmt.Errorf("install to %s: %s: %w", p.Disk, step.text, err)
		}
	}

	return nil
}

// writing is one run of Write.
type writing struct {
	ctx      context.Context
	disk     Device
	table    *gpt.Table
	fresh    bool
	content  Content
	progress func(string)
	// bootCode is the program in the first sector, and core what it loads from the partition BIOS; nil if no BIOS starts the disk.
	bootCode, core []byte
}

// section is a partition of a disk.
type section struct {
	*io.SectionReader
	disk   Device
	offset int64
}

// WriteAt implements io.WriterAt.
func (s section) WriteAt(b []byte, offset int64) (int, error) {
	if offset < 0 || offset+int64(len(b)) > s.Size() {
		return 0, fmt.Errorf("%d bytes at %d: the partition has %d bytes", len(b), offset, s.Size())
	}

	return s.disk.WriteAt(b, s.offset+offset)
}

// Sync implements Device.
func (s section) Sync() error { return s.disk.Sync() }

// find returns a planned partition.
func (w *writing) find(label string) (section, bool) {
	p, there := w.table.Find(label)
	offset := int64(p.First * w.table.SectorSize)

	return section{io.NewSectionReader(w.disk, offset, int64(p.Sectors()*w.table.SectorSize)), w.disk, offset}, there
}

// wipe zeroes both ends, except for the mark, and then the start of the partition EFI, where firmware would start an old system until there is the
// new one. The old partition table is gone before that: no disk has META and half of an old partition EFI. A mark that is there already stays throughout.
func (w *writing) wipe() error {
	if w.fresh {
		return nil
	}

	start, zeros := make([]byte, blkid.EndSize), make([]byte, blkid.EndSize)
	copy(start[markAt:], mark)

	if _, err := w.disk.WriteAt(start, 0); err != nil {
		return err
	}

	efi, _ := w.find(layout.PartitionEFI)

	for _, offset := range []int64{int64(w.table.Sectors*w.table.SectorSize) - blkid.EndSize, efi.offset} {
		if _, err := w.disk.WriteAt(zeros, offset); err != nil {
			return err
		}

		if err := w.disk.Sync(); err != nil {
			return err
		}
	}

	return nil
}

// unmark removes the mark.
func (w *writing) unmark() error {
	if w.fresh {
		return nil
	}

	if _, err := w.disk.WriteAt(make([]byte, len(mark)), markAt); err != nil {
		return err
	}

	return w.disk.Sync()
}

// files makes a file system with files.
func (w *writing) files(label string, files []File) error {
	part, there := w.find(label)
	if !there {
		return nil
	}

	f, err := fat.Format(part, fat.Options{
		Size: uint64(part.Size()), SectorSize: w.table.SectorSize, Offset: uint64(part.offset), Label: label, Serial: w.content.Serial,
		Time: w.content.Time,
	})
	if err != nil {
		return err
	}

	for _, file := range files {
		w.progress("write " + file.Path)

		if err := Put(w.ctx, f, file); err != nil {
			return err
		}
	}

	return nil
}

// Put creates or replaces a file of a boot partition, and the folders above it. The file appears after its content was read back and has the
// right digest.
func Put(ctx context.Context, f *fat.FS, file File) error {
	if err := f.MakeFolder(path.Dir(file.Path)); err != nil {
		return err
	}

	in, err := file.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	defer in.Close()

	h := sha256.New()
	body := io.TeeReader(reader{ctx, in}, h)

	return f.Create(fat.File{Path: file.Path, Size: file.Size, Body: body, Check: func(r io.Reader) error {
		return file.verify(h.Sum(nil), in, r)
	}})
}

// verify compares what was read from the source, and what is on the disk, with the digest.
func (s Source) verify(written []byte, rest, disk io.Reader) error {
	if n, err := io.CopyN(io.Discard, rest, 1); n > 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("the source is longer than %d bytes", s.Size)
	}

	want := hex.EncodeToString(written)
	if s.SHA256 != "" && s.SHA256 != want {
		return fmt.Errorf("the source has the digest %s, want %s: it is damaged", want, s.SHA256)
	}

	return verify("the disk", want, disk)
}

// raw writes the content of a partition.
func (w *writing) raw(label string, source *Source) error {
	part, there := w.find(label)
	if !there || source == nil {
		return nil
	}

	in, err := source.Open()
	if err != nil {
		return err
	}
	defer in.Close()

	h := sha256.New()
	if err := copyTo(part, io.TeeReader(io.LimitReader(reader{w.ctx, in}, source.Size), h), source.Size, w.fresh); err != nil {
		return err
	}

	if w.fresh && source.SHA256 == "" {
		return nil
	}

	if err := w.disk.Sync(); err != nil {
		return err
	}

	return source.verify(h.Sum(nil), in, io.NewSectionReader(part, 0, source.Size))
}

// meta writes META, which would otherwise have what was on the disk before.
func (w *writing) meta() error {
	part, _ := w.find(layout.PartitionMeta)

	if !w.fresh {
		if _, err := part.WriteAt(make([]byte, part.Size()), 0); err != nil {
			return err
		}
	}

	if w.content.Meta == nil {
		return w.disk.Sync()
	}

	return w.raw(layout.PartitionMeta, w.content.Meta)
}

// place reads the programs of GRUB, before anything is written.
func (w *writing) place() (err error) {
	if p, there := w.table.Find(layout.PartitionBIOS); there && w.content.GRUB != nil {
		w.bootCode, w.core, err = w.content.GRUB.place(p.First)
	}

	return err
}

// grub writes the core of GRUB.
func (w *writing) grub() error {
	if w.core == nil {
		return nil
	}

	source := Bytes(w.core)

	return w.raw(layout.PartitionBIOS, &source)
}

// start writes the program in the first sector, before the partition table there.
func (w *writing) start() error {
	if w.bootCode == nil {
		return nil
	}

	if _, err := w.disk.WriteAt(w.bootCode, 0); err != nil {
		return err
	}

	return w.disk.Sync()
}

// copyTo copies size bytes to the start of a partition. A fresh one has zeros already.
func copyTo(to io.WriterAt, from io.Reader, size int64, fresh bool) error {
	block, zeros := make([]byte, 64<<10), make([]byte, 64<<10)

	for offset := int64(0); offset < size; {
		n, err := io.ReadFull(from, block[:min(int64(len(block)), size-offset)])
		if err != nil {
			return fmt.Errorf("read content: %d of %d bytes are missing: %w", size-offset-int64(n), size, err)
		}

		if !fresh || !bytes.Equal(block[:n], zeros[:n]) {
			if _, err := to.WriteAt(block[:n], offset); err != nil {
				return err
			}
		}

		offset += int64(n)
	}

	return nil
}

// reader stops when its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}

	return r.Reader.Read(b)
}
