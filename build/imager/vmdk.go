// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zlib"
)

// The stream-optimized form of a disk of VMware (Virtual Disk Format 5.0), which virtual machines are delivered in. A disk is divided into
// grains; grains of zeros are not in the file. In order, the file has a header, a description in text, the grains, each compressed after a
// marker, with a table of offsets after those of 32 MiB, the directory of the tables, and the header once more, which says where the
// directory is. All offsets and sizes are in sectors.
const (
	sector         = 512
	grain          = 128 * sector
	grainsPerTable = 512
	// vmdkOverhead is how many sectors are before the first grain, and vmdkText how many of these are for the description.
	vmdkOverhead, vmdkText = 128, 20
	// atEnd is in the place of the directory's offset in the first header.
	atEnd = 1<<64 - 1
)

// The types of markers of a disk's metadata.
const (
	markEnd = iota
	markTable
	markDirectory
	markFooter
)

// vmdkWriter writes the sectors of a file, one after the other.
type vmdkWriter struct {
	to     io.Writer
	offset uint32
}

// write writes b and zeros up to the next sector.
func (w *vmdkWriter) write(b []byte) error {
	sectors := ceil(int64(len(b)), sector)
	padded := make([]byte, sectors*sector)
	copy(padded, b)

	if int64(w.offset)+sectors >= 1<<32 {
		return errors.New("the disk is too large for a stream-optimized VMDK")
	}

	w.offset += uint32(sectors)
	_, err := w.to.Write(padded)

	return err
}

// mark writes a marker of metadata, which has a number of sectors.
func (w *vmdkWriter) mark(kind uint32, sectors int64) error {
	marker := binary.LittleEndian.AppendUint64(nil, uint64(sectors))
	marker = binary.LittleEndian.AppendUint32(marker, 0)

	return w.write(binary.LittleEndian.AppendUint32(marker, kind))
}

// entries writes metadata of 32-bit numbers after its marker, and returns its offset.
func (w *vmdkWriter) entries(kind uint32, numbers []uint32) (uint32, error) {
	b, err := binary.Append(nil, binary.LittleEndian, numbers)
	if err != nil {
		return 0, err
	}

	if err := w.mark(kind, ceil(int64(len(b)), sector)); err != nil {
		return 0, err
	}

	offset := w.offset

	return offset, w.write(b)
}

// grain writes a part of the disk, which begins at a sector.
func (w *vmdkWriter) grain(at int64, data []byte) error {
	var b bytes.Buffer

	b.Write(make([]byte, 12))

	packer, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err != nil {
		return err
	}

	if _, err := packer.Write(data); err != nil {
		return err
	}

	if err := packer.Close(); err != nil {
		return err
	}

	binary.LittleEndian.PutUint64(b.Bytes(), uint64(at))
	binary.LittleEndian.PutUint32(b.Bytes()[8:], uint32(b.Len()-12))

	return w.write(b.Bytes())
}

// writeVMDK writes a disk of size bytes.
func writeVMDK(to *os.File, from source, size int64) error {
	id, err := idOf(from)
	if err != nil {
		return err
	}

	w := &vmdkWriter{to: to}
	text := vmdkDescription(size, binary.LittleEndian.Uint32(id[:]))

	if err := w.write(append(vmdkHeader(size, atEnd), text...)); err != nil {
		return err
	}

	if err := w.write(make([]byte, (vmdkOverhead-int64(w.offset))*sector)); err != nil {
		return err
	}

	directory := make([]uint32, ceil(size, grainsPerTable*grain))

	for i := range directory {
		if directory[i], err = w.table(from, int64(i)*grainsPerTable, size); err != nil {
			return err
		}
	}

	at, err := w.entries(markDirectory, directory)
	if err != nil {
		return err
	}

	if err := w.mark(markFooter, 1); err != nil {
		return err
	}

	if err := w.write(vmdkHeader(size, uint64(at))); err != nil {
		return err
	}

	return w.mark(markEnd, 0)
}

// table writes the grains of a table, from a number on, and the table. It returns the table's offset, or 0 if all grains are zeros.
func (w *vmdkWriter) table(from io.ReaderAt, first, size int64) (uint32, error) {
	var (
		table       = make([]uint32, grainsPerTable)
		data, zeros = make([]byte, grain), make([]byte, grain)
		used        bool
	)

	for i := range table {
		number := first + int64(i)
		if number*grain >= size {
			break
		}

		clear(data)

		if err := readBlock(from, data, number, size); err != nil {
			return 0, err
		}

		if bytes.Equal(data, zeros) {
			continue
		}

		table[i], used = w.offset, true

		if err := w.grain(number*(grain/sector), data); err != nil {
			return 0, err
		}
	}

	if !used {
		return 0, nil
	}

	return w.entries(markTable, table)
}

// vmdkHeader returns the header of a disk of size bytes with the offset of its directory.
func vmdkHeader(size int64, directory uint64) []byte {
	const (
		newlines, compressed, markers = 1, 1 << 16, 1 << 17
		deflate                       = 1
	)

	var (
		le     = binary.LittleEndian
		header = make([]byte, sector)
	)

	copy(header, "KDMV")
	le.PutUint32(header[4:], 3)
	le.PutUint32(header[8:], newlines|compressed|markers)
	le.PutUint64(header[12:], uint64(ceil(size, grain)*(grain/sector)))
	le.PutUint64(header[20:], grain/sector)
	le.PutUint64(header[28:], 1)
	le.PutUint64(header[36:], vmdkText)
	le.PutUint32(header[44:], grainsPerTable)
	le.PutUint64(header[56:], directory)
	le.PutUint64(header[64:], vmdkOverhead)
	copy(header[73:], "\n \r\n") // show whether the file was changed in transport
	le.PutUint16(header[77:], deflate)

	return header
}

// vmdkDescription returns the text of a disk, whose geometry is that of its controller.
func vmdkDescription(size int64, id uint32) []byte {
	const heads, sectors = 255, 63

	return fmt.Appendf(nil, `# Disk DescriptorFile
version=1
CID=%08x
parentCID=ffffffff
createType="streamOptimized"

# Extent description
RW %d SPARSE "%s"

# The Disk Data Base
#DDB

ddb.adapterType = "lsilogic"
ddb.geometry.cylinders = "%d"
ddb.geometry.heads = "%d"
ddb.geometry.sectors = "%d"
ddb.virtualHWVersion = "%d"
`, id, ceil(size, grain)*(grain/sector), ovaDisk, size/sector/heads/sectors, heads, sectors, ovaHardware)
}
