// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Hide covers the configuration of the image, which may have secrets: from here on no program can read it. An image without one has nothing
// to cover. root is the folder of the root file system.
func Hide(root string) error {
	file := filepath.Join(root, layout.EmbeddedConfig)

	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	return mount.Point{
		Source: "tmpfs", Target: filepath.Dir(file), FSType: "tmpfs", Flags: mount.ReadOnly | mount.NoSuid | mount.NoDev | mount.NoExec,
	}.Mount()
}

// maxConfig in bytes, decompressed.
const maxConfig = 16 << 20

// source is a place where a configuration may be; read returns nil when there is none.
type source struct {
	name string
	read func() ([]byte, error)
	// exposed is set when every process on the machine can read the source, too.
	exposed bool
}

// sources are the sources beside the disk, in the order in which they are read: those before the platform's, and those after it.
type sources struct{ before, after []source }

// fixedSources returns the sources that are read at once. The file of the image is read now: it is hidden later.
func fixedSources(root fs.FS, args cmdline.Cmdline, p platform.Platform) sources {
	inImage, errInImage := fs.ReadFile(root, layout.EmbeddedConfig)
	if errors.Is(errInImage, fs.ErrNotExist) {
		errInImage = nil
	}

	return sources{[]source{
		{"the image (/" + layout.EmbeddedConfig + ")", func() ([]byte, error) { return inImage, errInImage }, false},
		{"kernel argument " + cmdline.ConfigEarly, func() ([]byte, error) { return fromArgs(args.All(cmdline.ConfigEarly)) }, true},
		{"the variable USERDATA of the container", func() ([]byte, error) { return fromUserData(p.UserData) }, false},
	}, []source{
		{"kernel argument " + cmdline.ConfigInline, func() ([]byte, error) { return fromArgs(args.All(cmdline.ConfigInline)) }, true},
	}}
}

// fromUserData decodes the base64 of a configuration, which may be compressed with gzip.
func fromUserData(value string) ([]byte, error) {
	if value == "" {
		return nil, nil
	}

	text, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("decode base64: %w", err)
	}

	return decompress(text)
}

// decompress returns a configuration that may be compressed with gzip.
func decompress(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}

	reader, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("decompress gzip: %w", err)
	}

	return readLimited(reader, "gzip")
}

// readLimited reads a decompressed configuration.
func readLimited(reader io.Reader, format string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(reader, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", format, err)
	}

	if len(text) > maxConfig {
		return nil, fmt.Errorf("larger than %d bytes when decompressed", maxConfig)
	}

	return text, nil
}

func fromArgs(values []string) ([]byte, error) {
	if len(values) == 0 {
		return nil, nil
	}

	packed, err := base64.StdEncoding.DecodeString(strings.Join(values, ""))
	if err != nil {
		return nil, fmt.Errorf("decode base64: %w", err)
	}

	reader, err := zstd.NewReader(strings.NewReader(string(packed)), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxConfig))
	if err != nil {
		return nil, fmt.Errorf("decompress zstd: %w", err)
	}
	defer reader.Close()

	return readLimited(reader, "zstd")
}
