// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed-59268b81/talos/layout"
)

// loaderConf is the configuration of systemd-boot: no menu unless the user holds a key, and no editor for arguments.
const loaderConf = "timeout 0\neditor no\n"

// bootFile is one file of the EFI partition.
type bootFile struct{ path, source string }

// makeESP formats a part of a disk image as FAT32 and copies files to it. offset and size are in bytes.
func makeESP(ctx context.Context, disk string, offset, size int64, serial string, files []bootFile) error {
	var (
		image = fmt.Sprintf("%s@@%d", disk, offset)
		env   = []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(epoch.Unix(), 10), "TZ=UTC", "MTOOLS_SKIP_CHECK=1"}
	)

	if err := run(ctx, env, "mformat", "-i", image, "-F", "-v", layout.PartitionEFI, "-N", serial,
		"-T", strconv.FormatInt(size/512, 10), "-h", "64", "-s", "32", "-H", strconv.FormatInt(offset/512, 10), "::"); err != nil {
		return fmt.Errorf("EFI partition: %w", err)
	}

	made := map[string]bool{"/": true}

	for _, f := range files {
		for _, dir := range parents(f.path) {
			if made[dir] {
				continue
			}

			made[dir] = true

			if err := run(ctx, env, "mmd", "-i", image, "::"+dir); err != nil {
				return fmt.Errorf("EFI partition: %w", err)
			}
		}

		if err := run(ctx, env, "mcopy", "-i", image, f.source, "::"+f.path); err != nil {
			return fmt.Errorf("EFI partition: %s: %w", f.path, err)
		}
	}

	return nil
}

// parents returns the parent folders of an absolute path, from the top.
func parents(path string) []string {
	dir := filepath.Dir(path)
	if dir == "/" {
		return nil
	}

	return append(parents(dir), dir)
}

// bootFiles returns the files of the EFI partition. It creates some of them in scratch.
func bootFiles(scratch, loader, uki string) ([]bootFile, error) {
	conf := filepath.Join(scratch, "loader.conf")
	if err := os.WriteFile(conf, []byte(loaderConf), 0o644); err != nil {
		return nil, err
	}

	return []bootFile{
		{"/EFI/BOOT/BOOTX64.EFI", loader},
		{"/EFI/systemd/systemd-bootx64.efi", loader},
		{"/loader/loader.conf", conf},
		{"/EFI/Linux/" + filepath.Base(uki), uki},
	}, nil
}
