// SPDX-License-Identifier: Apache-2.0

// Package block has the documents about disks and volumes.
package block

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind {
	return []document.Kind{
		existingVolume, externalVolume, logicalVolume, raid, rawVolume, scrub, swapVolume, trim, userVolume, volume, volumeGroup, zswap,
	}
}
