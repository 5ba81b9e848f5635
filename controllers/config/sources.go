// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/sys/cmdline"
)

// Kernel arguments that carry a configuration: base64 of zstd, in as many arguments of the name as it takes.
const (
	argEarly  = "talos.config.early"
	argInline = "talos.config.inline"
)

// embedded is where an image may carry a configuration.
const embedded = "usr/local/etc/talos/config.yaml"

// maxConfig in bytes, unpacked.
const maxConfig = 16 << 20

// source is one place that may have a configuration; read returns nil when it has none.
type source struct {
	name string
	read func() ([]byte, error)
}

// fixedSources are those beside the disk, in the order in which they are asked.
func fixedSources(root fs.FS, args cmdline.Cmdline) []source {
	return []source{
		{"the image (/" + embedded + ")", func() ([]byte, error) {
			text, err := fs.ReadFile(root, embedded)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}

			return text, err
		}},
		{"kernel argument " + argEarly, func() ([]byte, error) { return fromArgs(args.All(argEarly)) }},
		{"kernel argument " + argInline, func() ([]byte, error) { return fromArgs(args.All(argInline)) }},
	}
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

	text, err := io.ReadAll(io.LimitReader(reader, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("it is not zstd: %w", err)
	}

	if len(text) > maxConfig {
		return nil, fmt.Errorf("it unpacks to more than %d bytes", maxConfig)
	}

	return text, nil
}
