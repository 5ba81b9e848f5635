// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Unpack unpacks a root image, which is a squashfs or already a folder, below a folder and returns its path. The name
// is a hash of the content, so that an image is unpacked once. The files belong to the caller; for root they keep their
// owners.
func Unpack(ctx context.Context, image, dir string) (to string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("unpack the root image: %w", err)
		}
	}()

	if info, err := os.Stat(image); err != nil {
		return "", err
	} else if info.IsDir() {
		return filepath.Abs(image)
	}

	name, err := digest(image)
	if err != nil {
		return "", err
	}

	if to, err = filepath.Abs(filepath.Join(dir, name)); err != nil {
		return "", err
	}

	if _, err := os.Stat(to); err == nil {
		return to, nil
	}

	// The image can hold setuid programs, whose owner is a user of this computer: other users must not run them.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}

	// Unpack beside it and rename, so that the folder is always complete.
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}

	out, err := exec.CommandContext(ctx, "unsquashfs", "-quiet", "-no-progress", "-no-xattrs", "-dest", part, image).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("unsquashfs %s: %w: %s", image, err, strings.TrimSpace(string(out)))
	}

	return to, os.Rename(part, to)
}

func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()

	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}

	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
