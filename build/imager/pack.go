// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// source is a file, of which the writers may read parts twice.
type source interface {
	io.Reader
	io.ReaderAt
}

// writer writes a file of size bytes in another form.
type writer func(to *os.File, from source, size int64) error

// convert makes the file to of the file from, which it removes.
func convert(ctx context.Context, from, to string, write writer) (string, error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()

	info, err := in.Stat()
	if err != nil {
		return "", err
	}

	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	defer out.Close()

	if err := write(out, stopping{ctx, in}, info.Size()); err != nil {
		return "", err
	}

	return to, errors.Join(out.Close(), os.Remove(from))
}

// stopping is a file that cannot be read any more when its context has ended.
type stopping struct {
	ctx  context.Context
	file *os.File
}

func (s stopping) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}

	return s.file.Read(b)
}

func (s stopping) ReadAt(b []byte, offset int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}

	return s.file.ReadAt(b, offset)
}

func packZstd(to *os.File, from source, _ int64) error {
	packer, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}

	_, err = io.Copy(packer, from)

	return errors.Join(err, packer.Close())
}

func packGzip(to *os.File, from source, _ int64) error {
	packer, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}

	_, err = io.Copy(packer, from)

	return errors.Join(err, packer.Close())
}

// fixed is the time of a file in an archive.
var fixed = time.Unix(1700000000, 0).UTC()

func packTar(to *os.File, from source, size int64) error {
	packer, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}

	archive := tar.NewWriter(packer)
	err = archive.WriteHeader(&tar.Header{Name: "disk.raw", Size: size, Mode: 0o644, ModTime: fixed, Format: tar.FormatGNU})

	if err == nil {
		_, err = io.Copy(archive, from)
	}

	return errors.Join(err, archive.Close(), packer.Close())
}
