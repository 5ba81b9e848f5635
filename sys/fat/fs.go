// SPDX-License-Identifier: Apache-2.0

package fat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// FS is an open file system. It is not safe for concurrent use.
type FS struct {
	geometry
	device Device
	time   time.Time
	// table has a value for each cluster, from the first copy.
	table []uint32
}

// Open opens the file system of a partition with a size in bytes. New entries have the time.
func Open(d Device, size int64, now time.Time) (*FS, error) {
	boot := make([]byte, 512)
	if _, err := d.ReadAt(boot, 0); err != nil {
		return nil, fmt.Errorf("open FAT32: %w", err)
	}

	g, err := parse(boot, size)
	if err != nil {
		return nil, fmt.Errorf("open FAT32: %w", err)
	}

	raw := make([]byte, g.table*g.sector)
	if _, err := d.ReadAt(raw, g.reserved*g.sector); err != nil {
		return nil, fmt.Errorf("open FAT32: read table: %w", err)
	}

	f := &FS{geometry: g, device: d, time: now, table: make([]uint32, len(raw)/4)}
	for i := range f.table {
		f.table[i] = le.Uint32(raw[4*i:])
	}

	return f, nil
}

// split returns the names of a path; that of the root is empty.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// walk reads the folder of a path.
func (f *FS) walk(names []string) (*folder, error) {
	d, err := f.folder(f.root)

	for _, name := range names {
		if err != nil {
			return nil, err
		}

		e, there := d.find(name)
		if !there {
			return nil, fs.ErrNotExist
		}

		if !e.Folder {
			return nil, fmt.Errorf("%s: %w", e.Name, errNoFolder)
		}

		d, err = f.folder(e.first)
	}

	return d, err
}

var (
	errNoFolder = errors.New("it is a file, not a folder")
	errFolder   = errors.New("it is a folder")
)

// parent returns the folder of a path, and the last name.
func (f *FS) parent(path string) (*folder, string, error) {
	names := split(path)
	if len(names) == 0 {
		return nil, "", errFolder
	}

	d, err := f.walk(names[:len(names)-1])

	return d, names[len(names)-1], err
}

// List returns the entries of a folder.
func (f *FS) List(path string) ([]Entry, error) {
	d, err := f.walk(split(path))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}

	var out []Entry

	for _, e := range d.entries {
		if e.Name != "." && e.Name != ".." {
			out = append(out, e)
		}
	}

	return out, nil
}

// Open returns the content of a file, and its size.
func (f *FS) Open(path string) (io.Reader, int64, error) {
	d, name, err := f.parent(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}

	e, there := d.find(name)

	switch {
	case !there:
		return nil, 0, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	case e.Folder:
		return nil, 0, fmt.Errorf("open %s: %w", path, errFolder)
	}

	chain, err := f.clustersOf(e)
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}

	return f.content(chain, e.Size), e.Size, nil
}

// ReadFile returns the content of a file of at most limit bytes.
func (f *FS) ReadFile(path string, limit int64) ([]byte, error) {
	r, size, err := f.Open(path)
	if err != nil {
		return nil, err
	}

	if size > limit {
		return nil, fmt.Errorf("read %s: it has %d bytes, at most %d are allowed", path, size, limit)
	}

	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}

	return b, nil
}

// clustersOf returns the clusters of a file. A chain that is not as long as the file is an error.
func (f *FS) clustersOf(e Entry) ([]uint32, error) {
	if e.first == 0 && e.Size == 0 {
		return nil, nil
	}

	want := max((e.Size+f.cluster-1)/f.cluster, 1)

	chain, err := f.chain(e.first, want)
	if err == nil && int64(len(chain)) < want {
		err = fmt.Errorf("%s has %d bytes, and a chain of %d clusters", e.Name, e.Size, len(chain))
	}

	return chain, err
}

// content returns a reader of the first bytes in a chain.
func (f *FS) content(chain []uint32, size int64) io.Reader {
	var parts []io.Reader

	for _, run := range runs(chain) {
		n := min(int64(len(run))*f.cluster, size)
		size -= n

		parts = append(parts, io.NewSectionReader(f.device, f.at(run[0]), n))
	}

	return io.MultiReader(parts...)
}

// runs returns the parts of a chain that are contiguous.
func runs(chain []uint32) (out [][]uint32) {
	for len(chain) > 0 {
		n := 1
		for n < len(chain) && chain[n] == chain[n-1]+1 {
			n++
		}

		out, chain = append(out, chain[:n]), chain[n:]
	}

	return out
}
