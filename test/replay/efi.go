// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
)

// Bytes is install.Bytes, for packages in which install is something else.
func Bytes(b []byte) install.Source { return install.Bytes(b) }

// MakeEFI makes an EFI partition with files.
func MakeEFI(ctx context.Context, d fat.Device, size int64, files []install.File) error {
	f, err := fat.Format(d, fat.Options{Size: uint64(size), SectorSize: sector, Label: layout.PartitionEFI, Time: time.Now()})
	if err != nil {
		return err
	}

	for _, file := range files {
		if err := install.Put(ctx, f, file); err != nil {
			return err
		}
	}

	return nil
}
