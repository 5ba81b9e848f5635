// SPDX-License-Identifier: Apache-2.0

package fat

import (
	"errors"
	"fmt"
	"slices"
)

const (
	endOfChain = 0x0fffffff
	// lastValue is the lowest value that ends a chain, and badCluster marks a cluster that is not used.
	lastValue  = 0x0ffffff8
	badCluster = 0x0ffffff7
	// valueBits are those of a value; the others are kept.
	valueBits = 0x0fffffff
)

// ErrNoSpace is the error for a file that does not fit.
var ErrNoSpace = errors.New("not enough free space")

func (f *FS) next(cluster uint32) uint32 { return f.table[cluster] & valueBits }

// chain returns the clusters of a chain, at most limit.
func (f *FS) chain(first uint32, limit int64) ([]uint32, error) {
	var out []uint32

	for c := first; ; c = f.next(c) {
		if !f.valid(c) {
			return nil, fmt.Errorf("the chain of cluster %d leads to cluster %d, which does not exist", first, c)
		}

		out = append(out, c)

		switch {
		case f.next(c) >= lastValue:
			return out, nil
		case int64(len(out)) >= limit:
			return nil, fmt.Errorf("the chain of cluster %d has more than %d clusters", first, limit)
		}
	}
}

// Free returns the number of free bytes.
func (f *FS) Free() int64 {
	n := int64(0)

	for c := uint32(2); f.valid(c); c++ {
		if f.next(c) == 0 {
			n++
		}
	}

	return n * f.cluster
}

// allocate returns free clusters for a number of bytes; nothing is written.
func (f *FS) allocate(size int64) ([]uint32, error) {
	want := (size + f.cluster - 1) / f.cluster
	if free := f.Free(); want*f.cluster > free {
		return nil, fmt.Errorf("%w: %d bytes are needed, %d are free", ErrNoSpace, size, free)
	}

	out := make([]uint32, 0, want)

	for c := uint32(2); int64(len(out)) < want; c++ {
		if f.next(c) == 0 {
			out = append(out, c)
		}
	}

	return out, nil
}

// link makes clusters a chain in memory.
func (f *FS) link(chain []uint32) {
	for i, c := range chain {
		to := uint32(endOfChain)
		if i+1 < len(chain) {
			to = chain[i+1]
		}

		f.set(c, to)
	}
}

func (f *FS) unlink(chain []uint32) {
	for _, c := range chain {
		f.set(c, 0)
	}
}

func (f *FS) set(cluster, value uint32) {
	f.table[cluster] = f.table[cluster]&^valueBits | value
}

// store writes the sectors of the table that have clusters, in all copies, and flushes them.
func (f *FS) store(clusters []uint32) error {
	if len(clusters) == 0 {
		return nil
	}

	perSector := uint32(f.sector / 4)

	var sectors []uint32
	for _, c := range clusters {
		if s := c / perSector; len(sectors) == 0 || sectors[len(sectors)-1] != s {
			sectors = append(sectors, s)
		}
	}

	slices.Sort(sectors)

	w := writer{device: f.device}

	for _, s := range slices.Compact(sectors) {
		b := make([]byte, f.sector)
		for i := range perSector {
			le.PutUint32(b[4*i:], f.table[s*perSector+i])
		}

		for i := range f.copies {
			w.write(b, (f.reserved+i*f.geometry.table+int64(s))*f.sector)
		}
	}

	w.flush()

	return w.err
}
