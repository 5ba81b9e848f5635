// SPDX-License-Identifier: Apache-2.0

package fat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// File is a file to create.
type File struct {
	Path string
	Size int64
	Body io.Reader
	// Check reads the content from the disk, before the file appears. It may be nil.
	Check func(io.Reader) error
}

// Create creates a file, or replaces it. Its folder must exist. The file is on the disk when Create returns.
func (f *FS) Create(file File) error {
	if err := f.create(file); err != nil {
		return fmt.Errorf("create %s: %w", file.Path, err)
	}

	return nil
}

func (f *FS) create(file File) error {
	d, name, err := f.parent(file.Path)
	if err != nil {
		return err
	}

	if err := checkName(name, int(f.sector/slot)); err != nil {
		return err
	}

	if file.Size < 0 || file.Size > math.MaxUint32 {
		return fmt.Errorf("%d bytes do not fit into a file of FAT32", file.Size)
	}

	old, replaces := d.find(name)
	if replaces && old.Folder {
		return errFolder
	}

	var freed []uint32
	if replaces {
		if freed, err = f.clustersOf(old); err != nil {
			return err
		}
	}

	chain, err := f.allocate(file.Size)
	if err != nil {
		return err
	}

	if err := f.fill(chain, file); err != nil {
		return err
	}

	f.link(chain)

	if err := f.store(chain); err != nil {
		return err
	}

	first := uint32(0)
	if len(chain) > 0 {
		first = chain[0]
	}

	if replaces {
		b := d.now[old.end-slot:][:slot]
		point(b, first, file.Size)
		putTime(b, f.time)
		err = f.save(d)
	} else {
		err = f.enter(d, name, attrFile, first, file.Size)
	}

	if err != nil {
		return err // the new chain may be in use: it stays
	}

	f.unlink(freed)

	return f.store(freed)
}

// fill writes the content of a file to free clusters, and flushes it.
func (f *FS) fill(chain []uint32, file File) error {
	var (
		left   = file.Size
		buffer = make([]byte, max(1<<20, f.cluster))
		per    = int(int64(len(buffer)) / f.cluster)
		w      = writer{device: f.device}
	)

	for _, run := range runs(chain) {
		for len(run) > 0 && w.err == nil {
			n := min(len(run), per)
			length := min(int64(n)*f.cluster, left)

			if _, err := io.ReadFull(file.Body, buffer[:length]); err != nil {
				return fmt.Errorf("read content: %d of %d bytes are missing: %w", left, file.Size, err)
			}

			w.write(buffer[:length], f.at(run[0]))

			left -= length
			run = run[n:]
		}
	}

	if w.flush(); w.err != nil || file.Check == nil {
		return w.err
	}

	return file.Check(f.content(chain, file.Size))
}

// enter adds an entry to a folder, which grows when it is full.
func (f *FS) enter(d *folder, name string, attr byte, first uint32, size int64) error {
	slots, err := f.slotsOf(d, name, attr, first, size)
	if err != nil {
		return err
	}

	if !d.insert(slots, int(f.sector)) {
		if err := f.grow(d); err != nil {
			return err
		}

		if !d.insert(slots, int(f.sector)) {
			return fmt.Errorf("the folder is full: %w", ErrNoSpace)
		}
	}

	return f.save(d)
}

// grow adds an empty cluster to a folder.
func (f *FS) grow(d *folder) error {
	if int64(len(d.now))+f.cluster > maxFolder {
		return fmt.Errorf("the folder is full: %w", ErrNoSpace)
	}

	chain, err := f.allocate(f.cluster)
	if err != nil {
		return err
	}

	w := writer{device: f.device}
	w.write(make([]byte, f.cluster), f.at(chain[0]))
	w.flush()

	if w.err != nil {
		return w.err
	}

	f.link(chain)

	// The end of the longer chain is there before anything leads to it.
	if err := f.store(chain); err != nil {
		return err
	}

	last := d.chain[len(d.chain)-1]
	f.set(last, chain[0])
	d.chain = append(d.chain, chain[0])
	d.now, d.was = append(d.now, make([]byte, f.cluster)...), append(d.was, make([]byte, f.cluster)...)

	return f.store([]uint32{last})
}

// save writes the sectors of a folder that have changed: the last first, each with a flush. So the end of the folder is never beyond what is
// valid, and what a reader finds changes with one sector.
func (f *FS) save(d *folder) error {
	w := writer{device: f.device}

	for at := int64(len(d.now)) - f.sector; at >= 0; at -= f.sector {
		b := d.now[at:][:f.sector]
		if !bytes.Equal(b, d.was[at:][:f.sector]) {
			w.write(b, f.at(d.chain[at/f.cluster])+at%f.cluster)
			w.flush()
		}
	}

	if w.err == nil {
		copy(d.was, d.now)
		d.list()
	}

	return w.err
}

// MakeFolder creates a folder, and those above it. It is not an error if they exist.
func (f *FS) MakeFolder(path string) error {
	names := split(path)

	for i := range names {
		if err := f.makeFolder(names[:i], names[i]); err != nil {
			return fmt.Errorf("make folder %s: %w", path, err)
		}
	}

	return nil
}

func (f *FS) makeFolder(above []string, name string) error {
	d, err := f.walk(above)
	if err != nil {
		return err
	}

	if e, there := d.find(name); there {
		if !e.Folder {
			return errNoFolder
		}

		return nil
	}

	if err := checkName(name, int(f.sector/slot)); err != nil {
		return err
	}

	chain, err := f.allocate(f.cluster)
	if err != nil {
		return err
	}

	up := d.chain[0]
	if len(above) == 0 {
		up = 0 // the root folder has no number here
	}

	content := make([]byte, f.cluster)
	for i, e := range []struct {
		name  string
		first uint32
	}{{".", chain[0]}, {"..", up}} {
		b := content[i*slot:][:slot]
		copy(b, fmt.Sprintf("%-11s", e.name))
		b[11] = attrFolder
		putTime(b, f.time)
		point(b, e.first, 0)
	}

	w := writer{device: f.device}
	w.write(content, f.at(chain[0]))
	w.flush()

	if w.err != nil {
		return w.err
	}

	f.link(chain)

	if err := f.store(chain); err != nil {
		return err
	}

	return f.enter(d, name, attrFolder, chain[0], 0)
}

// Remove removes a file. It is not an error if there is none.
func (f *FS) Remove(path string) error {
	if err := f.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}

	return nil
}

func (f *FS) remove(path string) error {
	d, name, err := f.parent(path)
	if err != nil {
		return err
	}

	e, there := d.find(name)
	if !there {
		return nil
	}

	if e.Folder {
		return errFolder
	}

	chain, err := f.clustersOf(e)
	if err != nil {
		return err
	}

	for at := e.at; at < e.end; at += slot {
		d.now[at] = deleted
	}

	if err := f.save(d); err != nil {
		return err
	}

	f.unlink(chain)

	return f.store(chain)
}
