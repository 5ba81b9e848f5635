// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"time"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/meta"
)

// Part is a part of the disk in a state, such as a partition.
type Part struct {
	state        *State
	offset, size int64
	// tracing is set while reads only note where the content is.
	tracing hash.Hash
}

// Part returns a part of the disk.
func (s *State) Part(offset, size int64) *Part { return &Part{state: s, offset: offset, size: size} }

// Size returns the size in bytes.
func (p *Part) Size() int64 { return p.size }

// ReadAt implements io.ReaderAt.
func (p *Part) ReadAt(b []byte, offset int64) (int, error) {
	length := min(int64(len(b)), p.size-offset)
	if offset < 0 || length < 0 {
		return 0, io.EOF
	}

	var err error

	n := int(length)
	if p.tracing != nil {
		err = p.state.identify(p.tracing, p.offset+offset, length)
	} else {
		n, err = p.state.ReadAt(b[:length], p.offset+offset)
	}

	if err == nil && n < len(b) {
		err = io.EOF
	}

	return n, err
}

// WriteAt implements io.WriterAt.
func (p *Part) WriteAt(b []byte, offset int64) (int, error) {
	if offset < 0 || offset+int64(len(b)) > p.size {
		return 0, fmt.Errorf("write %d bytes at %d: the partition has %d bytes", len(b), offset, p.size)
	}

	return p.state.WriteAt(b, p.offset+offset)
}

// Sync does nothing, and so does Close.
func (p *Part) Sync() error  { return nil }
func (p *Part) Close() error { return nil }

// Sums are the digests of contents, by the places where they are. Most states have the same large files at the same places, which are read once.
type Sums map[[sha256.Size]byte]string

// Of returns the digest of what open reads from a part.
func (s Sums) Of(p *Part, open func() (io.Reader, error)) (string, error) {
	r, err := open()
	if err != nil {
		return "", err
	}

	p.tracing = sha256.New()
	_, err = io.Copy(io.Discard, r)

	var key [sha256.Size]byte

	p.tracing.Sum(key[:0])
	p.tracing = nil

	if sum, known := s[key]; known || err != nil {
		return sum, err
	}

	if r, err = open(); err != nil {
		return "", err
	}

	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}

	s[key] = hex.EncodeToString(h.Sum(nil))

	return s[key], nil
}

// Found is what a boot finds on a disk.
type Found struct {
	// Table is nil without one.
	Table *gpt.Table
	// Meta has the values of META; nil without a partition META. Then the disk has no system, and the rest is not looked at.
	Meta map[meta.Tag][]byte
	// Files has the digest of each file of the partition EFI.
	Files map[string]string
}

// Look returns what a boot finds. META that cannot be read, and a file or folder of the partition EFI that cannot be read, are errors.
func (s *State) Look(sums Sums) (*Found, error) {
	table, err := gpt.Read(s, uint64(s.Size()), sector)
	if err != nil {
		// Neither copy is valid: no disk of a system is like that, and the installation begins again.
		return &Found{}, nil //nolint:nilerr // see above
	}

	found := &Found{Table: table}

	p, there := s.Partition(table, layout.PartitionMeta)
	if !there {
		return found, nil
	}

	values, err := meta.Open(p)
	if err != nil {
		return nil, err
	}

	found.Meta = values.Values()

	if p, there = s.Partition(table, layout.PartitionEFI); !there {
		return nil, errors.New("the disk has META and no partition EFI")
	}

	if found.Files, err = sums.files(p); err != nil {
		return nil, fmt.Errorf("%s: %w", layout.PartitionEFI, err)
	}

	return found, nil
}

// Content returns the digest of a partition, which is empty if there is none.
func (s *State) Content(t *gpt.Table, label string, sums Sums) (string, error) {
	p, there := s.Partition(t, label)
	if !there {
		return "", nil
	}

	return sums.Of(p, func() (io.Reader, error) { return io.NewSectionReader(p, 0, p.size), nil })
}

// Partition returns a partition.
func (s *State) Partition(t *gpt.Table, label string) (*Part, bool) {
	p, there := t.Find(label)

	return s.Part(int64(p.First*t.SectorSize), int64(p.Sectors()*t.SectorSize)), there
}

// files returns the digests of all files of a FAT file system.
func (s Sums) files(p *Part) (map[string]string, error) {
	f, err := fat.Open(p, p.size, time.Time{})
	if err != nil {
		return nil, err
	}

	out := map[string]string{}

	return out, s.walk(p, f, "/", out)
}

func (s Sums) walk(p *Part, f *fat.FS, folder string, out map[string]string) error {
	list, err := f.List(folder)
	if err != nil {
		return err
	}

	for _, e := range list {
		name := path.Join(folder, e.Name)

		if e.Folder {
			err = s.walk(p, f, name, out)
		} else {
			out[name], err = s.Of(p, func() (io.Reader, error) {
				r, _, err := f.Open(name)

				return r, err
			})
		}

		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}

	return nil
}
