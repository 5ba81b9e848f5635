// SPDX-License-Identifier: Apache-2.0

package medium

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// The El Torito specification, version 1.0: the boot record is in sector 17, and names the sector of the boot catalog, whose entries have 32
// bytes. UEFI takes the image of the platform 0xEF (UEFI specification 13.3.2.1).
const (
	sector       = 2048
	bootRecord   = 17 * sector
	catalogAt    = 0x47
	entrySize    = 32
	platformEFI  = 0xef
	bootable     = 0x88
	headerMore   = 0x90
	headerLast   = 0x91
	imageAt      = 8
	maxCatalog   = 64 // entries
	elToritoName = "EL TORITO SPECIFICATION"
)

// efiImage returns where the image with the EFI partition begins on a CD. cd is false for a device that is none, or that UEFI does not start.
func efiImage(device io.ReaderAt, size int64) (offset int64, cd bool, err error) {
	if size < bootRecord+sector {
		return 0, false, nil
	}

	b := make([]byte, sector)
	if _, err := device.ReadAt(b, bootRecord); err != nil {
		return 0, false, fmt.Errorf("read the boot record: %w", err)
	}

	if string(b[1:6]) != "CD001" || !bytes.HasPrefix(b[7:], []byte(elToritoName)) {
		return 0, false, nil
	}

	at := int64(binary.LittleEndian.Uint32(b[catalogAt:])) * sector
	if at+maxCatalog*entrySize > size {
		return 0, false, nil
	}

	if _, err := device.ReadAt(b, at); err != nil {
		return 0, false, fmt.Errorf("read the boot catalog: %w", err)
	}

	offset, cd = efiEntry(b)

	return offset, cd && offset < size, nil
}

// efiEntry returns the image for UEFI in a boot catalog.
func efiEntry(catalog []byte) (offset int64, found bool) {
	// The first entry validates the catalog, and has the platform of the second.
	if catalog[0] != 1 || catalog[30] != 0x55 || catalog[31] != 0xaa {
		return 0, false
	}

	platform, entries, last := catalog[1], 1, false

	for i := 1; i < min(maxCatalog, len(catalog)/entrySize); i++ {
		e := catalog[i*entrySize : (i+1)*entrySize]

		switch {
		case entries > 0:
			entries--

			if platform == platformEFI && e[0] == bootable {
				return int64(binary.LittleEndian.Uint32(e[imageAt:])) * sector, true
			}
		case last:
			return 0, false
		case e[0] == headerMore || e[0] == headerLast:
			platform, entries, last = e[1], int(binary.LittleEndian.Uint16(e[2:])), e[0] == headerLast
		default:
			return 0, false
		}
	}

	return 0, false
}
