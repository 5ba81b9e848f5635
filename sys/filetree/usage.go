// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"context"
	"io/fs"
	"syscall"
)

// blockSize is the kernel's unit of st_blocks, whatever the block size of the file system is.
const blockSize = 512

// maxLinks is how many files with several names are remembered; beyond that each name counts.
const maxLinks = 1 << 20

// Usage walks a tree and calls fn for each file with its size on disk in bytes, and for each folder, after its contents, with the
// sum. A file with several names counts once. An Entry with an Err has a size too: that of the folder itself, or zero.
func Usage(ctx context.Context, root string, fn func(e Entry, size int64) error) error {
	u := &usage{fn: fn, seen: map[inode]struct{}{}}

	if err := Walk(ctx, root, Unlimited, u.add); err != nil {
		return err
	}

	return u.leave(0)
}

type usage struct {
	fn   func(Entry, int64) error
	open []sum // the folders from the root to the current one
	seen map[inode]struct{}
}

type sum struct {
	Entry

	size int64
}

type inode struct{ dev, ino uint64 }

func (u *usage) add(e Entry) error {
	if e.Info == nil {
		return u.fn(e, 0)
	}

	if err := u.leave(e.Depth); err != nil {
		return err
	}

	size := u.size(e.Info)

	if e.Info.IsDir() {
		u.open = append(u.open, sum{e, size})

		return nil
	}

	if n := len(u.open); n > 0 {
		u.open[n-1].size += size
	}

	return u.fn(e, size)
}

// leave finishes the folders at this depth and below.
func (u *usage) leave(depth int) error {
	for n := len(u.open); n > depth; n-- {
		done := u.open[n-1]
		u.open = u.open[:n-1]

		if n > 1 {
			u.open[n-2].size += done.size
		}

		if err := u.fn(done.Entry, done.size); err != nil {
			return err
		}
	}

	return nil
}

func (u *usage) size(info fs.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}

	if st.Nlink > 1 && !info.IsDir() {
		id := inode{uint64(st.Dev), st.Ino} // the type of Dev differs by architecture

		if _, again := u.seen[id]; again {
			return 0
		}

		if len(u.seen) < maxLinks {
			u.seen[id] = struct{}{}
		}
	}

	return st.Blocks * blockSize
}
