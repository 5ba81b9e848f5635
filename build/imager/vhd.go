// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"encoding/binary"
	"io"

	"github.com/seed-59268b81/talos/sys/gpt"
)

// vhdFooter returns the footer of a fixed disk of size bytes (Virtual Hard Disk Image Format Specification 1.0), which Azure takes.
func vhdFooter(size uint64, id [16]byte) (footer [512]byte) {
	be := binary.BigEndian

	copy(footer[0:], "conectix")
	be.PutUint32(footer[8:], 2)        // a bit that is always set
	be.PutUint32(footer[12:], 0x10000) // the version of the format
	be.PutUint64(footer[16:], 1<<64-1) // a fixed disk has no further headers
	be.PutUint32(footer[24:], uint32(fixed.Unix()-vhdEpoch))
	copy(footer[28:], "qem2") // of a program that goes by the size and not by the geometry, which is not exact
	be.PutUint32(footer[32:], 0x10000)
	copy(footer[36:], "Wi2k")
	be.PutUint64(footer[40:], size)
	be.PutUint64(footer[48:], size)

	cylinders, heads, sectors := geometry(size / 512)
	be.PutUint16(footer[56:], cylinders)
	footer[58], footer[59] = heads, sectors
	be.PutUint32(footer[60:], 2) // fixed
	copy(footer[68:], id[:])

	var sum uint32
	for _, b := range footer {
		sum += uint32(b)
	}

	be.PutUint32(footer[64:], ^sum)

	return footer
}

// vhdEpoch is 2000-01-01 in Unix seconds.
const vhdEpoch = 946684800

// geometry returns cylinders, heads and sectors per track, as the appendix of the specification computes them.
func geometry(total uint64) (cylinders uint16, heads, sectors uint8) {
	total = min(total, 65535*16*255)

	if total >= 65535*16*63 {
		return uint16(total / 255 / 16), 16, 255
	}

	sectors = 17
	tracks := total / 17
	h := max((tracks+1023)/1024, 4)

	if tracks >= h*1024 || h > 16 {
		sectors, h = 31, 16
		tracks = total / 31
	}

	if tracks >= h*1024 {
		sectors, h = 63, 16
		tracks = total / 63
	}

	return uint16(tracks / h), uint8(h), sectors
}

// idOf returns the identifier in a disk's partition table.
func idOf(disk io.ReaderAt) (id gpt.GUID, err error) {
	header := make([]byte, 512)
	if _, err := disk.ReadAt(header, 512); err != nil {
		return id, err
	}

	copy(id[:], header[56:72])

	return id, nil
}
