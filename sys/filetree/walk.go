// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Unlimited is the depth of a walk without a limit.
const Unlimited = -1

// batch is how many names are read and sorted at a time; most folders have fewer.
const batch = 1 << 14

// Entry is one file of a walk.
type Entry struct {
	// Path is that from the root of the file system, as the walk reached it.
	Path string
	// Relative is the path from the root of the walk: "." for a folder, the name for any other file.
	Relative string
	// Depth is the number of folders below the root of the walk.
	Depth int
	// Info is that of the file; of a symbolic link it is that of the link itself. It is nil with an Err.
	Info fs.FileInfo
	// Err is why the file, or the contents of the folder, cannot be read. A folder that has an Info but cannot be opened is
	// visited twice.
	Err error
}

// Walk calls fn for the file and, down to a depth, for all files below it; folders come before their contents. An error of the root
// ends the walk; an error further down is an Entry, except that a file that is removed meanwhile is left out. An error of fn ends the walk.
func Walk(ctx context.Context, root string, depth int, fn func(Entry) error) error {
	info, err := ask(ctx, root, func() (fs.FileInfo, error) { return os.Stat(root) })
	if err != nil {
		return err
	}

	e := Entry{Path: filepath.Clean(root), Relative: ".", Info: info}
	if !info.IsDir() {
		e.Relative = filepath.Base(e.Path)
	}

	w := &walker{ctx: ctx, depth: depth, fn: fn}

	return w.visit(e)
}

type walker struct {
	ctx   context.Context // of the walk
	depth int
	fn    func(Entry) error
}

func (w *walker) visit(e Entry) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}

	if err := w.fn(e); err != nil {
		return err
	}

	if e.Info == nil || !e.Info.IsDir() || w.depth >= 0 && e.Depth >= w.depth {
		return nil
	}

	return w.descend(e)
}

func (w *walker) descend(e Entry) error {
	flags := unix.O_DIRECTORY | unix.O_NONBLOCK
	if e.Depth > 0 {
		flags |= unix.O_NOFOLLOW
	}

	dir, err := ask(w.ctx, e.Path, func() (*os.File, error) { return os.OpenFile(e.Path, flags, 0) })
	if err != nil {
		return w.failed(e, err)
	}
	defer dir.Close()

	for {
		names, err := ask(w.ctx, e.Path, func() ([]string, error) { return dir.Readdirnames(batch) })
		slices.Sort(names)

		for _, name := range names {
			c := w.below(e, name)
			if errors.Is(c.Err, fs.ErrNotExist) {
				continue // it was removed after it was listed
			}

			if err := w.visit(c); err != nil {
				return err
			}
		}

		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return w.failed(e, err)
		}
	}
}

func (w *walker) failed(e Entry, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed after it was listed
	}

	return w.fn(Entry{Path: e.Path, Relative: e.Relative, Depth: e.Depth, Err: err})
}

func (w *walker) below(e Entry, name string) Entry {
	c := Entry{Path: filepath.Join(e.Path, name), Relative: strings.TrimPrefix(e.Relative+"/"+name, "./"), Depth: e.Depth + 1}
	c.Info, c.Err = ask(w.ctx, c.Path, func() (fs.FileInfo, error) { return os.Lstat(c.Path) })

	if c.Err != nil {
		c.Info = nil
	}

	return c
}
