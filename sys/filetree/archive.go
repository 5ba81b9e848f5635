// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const (
	// smallFile is the size in bytes up to which the reported size is not trusted: kernel files report 0 or 4096, whatever they hold.
	smallFile = 64 << 10
	// smallLimit is how much such a file may hold.
	smallLimit = 4 << 20
	// padLimit is by how much a file may shrink while it is read; the archive has zeros instead.
	padLimit = 16 << 20
	// maxSkipped is how many files the error names.
	maxSkipped = 10
)

// Skipped is the error of an archive that lacks some files, or has only a part of them; the rest is complete.
type Skipped struct {
	Errs  []error
	Count int
}

// Error implements error.
func (s *Skipped) Error() string {
	var b strings.Builder

	fmt.Fprintf(&b, "%d could not be read", s.Count)

	sep := ": "
	for _, err := range s.Errs {
		b.WriteString(sep + err.Error())

		sep = "; "
	}

	if more := s.Count - len(s.Errs); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}

	return b.String()
}

// Unwrap returns the errors.
func (s *Skipped) Unwrap() []error { return s.Errs }

func (s *Skipped) add(err error) {
	s.Count++

	if s.Count <= maxSkipped {
		s.Errs = append(s.Errs, err)
	}
}

// Archive writes a file or a tree as a tar archive, with names relative to the root. Sockets are left out. After a Skipped error the
// archive is complete except for the files that the error names; after any other error it is not.
func Archive(ctx context.Context, root string, w io.Writer) error {
	a := &archiver{ctx: ctx, tar: tar.NewWriter(w)}

	if err := Walk(ctx, root, Unlimited, a.add); err != nil {
		return err
	}

	if err := a.tar.Close(); err != nil {
		return err
	}

	if a.skipped.Count > 0 {
		return &a.skipped
	}

	return nil
}

type archiver struct {
	ctx     context.Context // of the archive
	tar     *tar.Writer
	skipped Skipped
}

func (a *archiver) add(e Entry) error {
	switch {
	case e.Err != nil:
		a.skipped.add(e.Err)

		return nil
	case e.Info.Mode()&fs.ModeSocket != 0:
		return nil
	}

	target := ""

	if e.Info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if target, err = os.Readlink(e.Path); errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed
		} else if err != nil {
			a.skipped.add(err)

			return nil
		}
	}

	header, err := tar.FileInfoHeader(e.Info, target)
	if err != nil {
		a.skipped.add(fmt.Errorf("%s: %w", e.Path, err))

		return nil
	}

	header.Name, header.Format = e.Relative, tar.FormatPAX
	if e.Info.IsDir() {
		header.Name += "/"
	}

	if e.Info.Mode().IsRegular() {
		return a.addFile(e, header)
	}

	return a.tar.WriteHeader(header)
}

func (a *archiver) addFile(e Entry, header *tar.Header) error {
	// The root may be a symbolic link: Walk followed it.
	content, err := Open(a.ctx, e.Path, e.Depth == 0)
	if err != nil {
		return a.skip(e, err)
	}
	defer content.Close()

	header.Size = content.Info.Size()

	if header.Size > smallFile {
		return a.addLarge(e.Path, header, content)
	}

	b, err := io.ReadAll(io.LimitReader(content, smallLimit+1))
	if err != nil {
		return a.skip(e, err)
	}

	if len(b) > smallLimit {
		a.skipped.add(fmt.Errorf("%s: it is longer than the %d bytes that it reports; the archive has only %d", e.Path, header.Size, smallLimit))

		b = b[:smallLimit]
	}

	header.Size = int64(len(b))

	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}

	_, err = io.Copy(a.tar, bytes.NewReader(b))

	return err
}

// addLarge copies as much as the header says. If the file is shorter, zeros fill the rest, up to padLimit.
func (a *archiver) addLarge(path string, header *tar.Header, content io.Reader) error {
	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}

	n, err := io.CopyN(a.tar, content, header.Size)
	if err == nil {
		return nil
	}

	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}

	missing := header.Size - n
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: it shrank by %d bytes while it was read; the archive has zeros instead", path, missing)
	}

	if missing > padLimit {
		return err
	}

	a.skipped.add(err)

	_, err = io.CopyN(a.tar, zeros{}, missing)

	return err
}

// skip records a file that the archive will not have. A file that was removed is not recorded, nor is a kernel file in a tree: some
// are write-only, and some cannot be read at the moment.
func (a *archiver) skip(e Entry, err error) error {
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}

	if st, ok := e.Info.Sys().(*syscall.Stat_t); ok && st.Blocks == 0 && e.Depth > 0 {
		return nil
	}

	if !errors.Is(err, fs.ErrNotExist) {
		a.skipped.add(err)
	}

	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)

	return len(p), nil
}
