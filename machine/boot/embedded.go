// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/mount"
)

// embedConfig puts the configuration that an image was made with, if any, into the root. It is in the initramfs and not in the root image,
// so that an image with a configuration has the same root as all others. It is in memory there, where machined covers it after it has read it.
func embedConfig(initramfs, root string) error {
	text, err := os.ReadFile(filepath.Join(initramfs, layout.EmbeddedConfig))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("embedded configuration: %w", err)
	}

	file := filepath.Join(root, layout.EmbeddedConfig)

	if err := (mount.Point{
		Source: "tmpfs", Target: filepath.Dir(file), FSType: "tmpfs", Flags: mount.NoSuid | mount.NoDev | mount.NoExec, Data: "mode=0700",
	}).Mount(); err != nil {
		return fmt.Errorf("embedded configuration: %w", err)
	}

	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("embedded configuration: %w", err)
	}

	return nil
}
