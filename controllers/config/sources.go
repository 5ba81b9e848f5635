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
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/platform"
)

// embedded is where an image may carry a configuration.
const embedded = "usr/local/etc/talos/config.yaml"

// maxConfig in bytes, unpacked.
const maxConfig = 16 << 20

// source is one place that may have a configuration; read returns nil when it has none.
type source struct {
	name string
	read func() ([]byte, error)
	// exposed is one that all that runs on the machine can read too.
	exposed bool
}

// fixedSources are those beside the disk, in the order in which they are asked.
func fixedSources(root fs.FS, args cmdline.Cmdline, p platform.Platform) []source {
	return []source{
		{"the image (/" + embedded + ")", func() ([]byte, error) {
			text, err := fs.ReadFile(root, embedded)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}

			return text, err
		}, false},
		{"kernel argument " + cmdline.ConfigEarly, func() ([]byte, error) { return fromArgs(args.All(cmdline.ConfigEarly)) }, true},
		{"the variable USERDATA of the container", func() ([]byte, error) { return fromUserData(p.UserData) }, false},
		{"kernel argument " + cmdline.ConfigInline, func() ([]byte, error) { return fromArgs(args.All(cmdline.ConfigInline)) }, true},
	}
}

// fromUserData reads base64 of a configuration, or of one that gzip has packed.
func fromUserData(value string) ([]byte, error) {
	if value == "" {
		return nil, nil
	}

	text, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("it is not base64: %w", err)
	}

	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}

	reader, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not gzip: %w", err)
	}

	return readLimited(reader, "gzip")
}

// readLimited reads all of an unpacked configuration.
func readLimited(reader io.Reader, format string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(reader, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("it is not %s: %w", format, err)
	}

	if len(text) > maxConfig {
		return nil, fmt.Errorf("it unpacks to more than %d bytes", maxConfig)
	}

	return text, nil
}

func fromArgs(values []string) ([]byte, error) {
	if len(values) == 0 {
		return nil, nil
	}

	packed, err := base64.StdEncoding.DecodeString(strings.Join(values, ""))
	if err != nil {
		return nil, fmt.Errorf("it is not base64: %w", err)
	}

	reader, err := zstd.NewReader(strings.NewReader(string(packed)), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxConfig))
	if err != nil {
		return nil, fmt.Errorf("it is not zstd: %w", err)
	}
	defer reader.Close()

	return readLimited(reader, "zstd")
}
