// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// The format QCOW, version 3 (QEMU, docs/interop/qcow2.txt). A disk is divided into clusters; clusters of zeros are not in the file. In
// order, the file has a header, the table of reference counts and its blocks, the table of the first level, those of the second, and the
// clusters with data.
const (
	clusterBits = 16
	cluster     = 1 << clusterBits
	// perTable is how many clusters a table of the second level covers, and perBlock how many a block of reference counts.
	perTable = cluster / 8
	perBlock = cluster / 2
	// owned marks a cluster with one reference.
	owned        = 1 << 63
	headerLength = 104
)

func ceil(n, by int64) int64 { return (n + by - 1) / by }

// writeQcow2 writes a disk of size bytes.
func writeQcow2(to *os.File, from source, size int64) error {
	used, err := usedClusters(from, size)
	if err != nil {
		return err
	}

	// Clusters of each part of the file. The table of counts has room for more than all disks.
	clusters := int64(len(used))
	first := ceil(max(ceil(clusters, perTable), 1), perTable)
	data, tables := int64(0), make([]bool, ceil(clusters, perTable))

	for i, u := range used {
		if u {
			data++
			tables[i/perTable] = true
		}
	}

	second := int64(0)

	for _, t := range tables {
		if t {
			second++
		}
	}

	blocks := int64(1)
	total := func() int64 { return 2 + blocks + first + second + data }

	for blocks*perBlock < total() {
		blocks++
	}

	if blocks > cluster/8 {
		return errors.New("the disk is too large")
	}

	head := qcow2Head(size, used, tables, blocks, first, second, data)

	if _, err := to.Write(head); err != nil {
		return err
	}

	buffer := make([]byte, cluster)

	for i, u := range used {
		if !u {
			continue
		}

		clear(buffer)

		if err := readBlock(from, buffer, int64(i), size); err != nil {
			return err
		}

		if _, err := to.Write(buffer); err != nil {
			return err
		}
	}

	return nil
}

// usedClusters returns which clusters of a disk are not zeros.
func usedClusters(from io.ReaderAt, size int64) ([]bool, error) {
	used := make([]bool, ceil(size, cluster))
	buffer, zeros := make([]byte, cluster), make([]byte, cluster)

	for i := range used {
		clear(buffer)

		if err := readBlock(from, buffer, int64(i), size); err != nil {
			return nil, err
		}

		used[i] = !bytes.Equal(buffer, zeros)
	}

	return used, nil
}

// readBlock reads the block with a number, of those that have the buffer's length, of a disk that may end within it.
func readBlock(from io.ReaderAt, buffer []byte, number, size int64) error {
	at := number * int64(len(buffer))
	n := min(int64(len(buffer)), size-at)

	_, err := from.ReadAt(buffer[:n], at)
	if errors.Is(err, io.EOF) { // with all bytes
		err = nil
	}

	return err
}

// qcow2Head returns the part of the file before the data: the header and all tables. blocks, first, second and data are the numbers of
// clusters of blocks of counts, of tables of both levels, and of data; tables are the tables of the second level that exist.
func qcow2Head(size int64, used, tables []bool, blocks, first, second, data int64) []byte {
	var (
		be       = binary.BigEndian
		atFirst  = (2 + blocks) * cluster
		atSecond = atFirst + first*cluster
		atData   = atSecond + second*cluster
		head     = make([]byte, atData)
	)

	copy(head, "QFI\xfb")
	be.PutUint32(head[4:], 3)
	be.PutUint32(head[20:], clusterBits)
	be.PutUint64(head[24:], uint64(size))
	be.PutUint32(head[36:], uint32(len(tables)))
	be.PutUint64(head[40:], uint64(atFirst))
	be.PutUint64(head[48:], cluster) // the table of counts
	be.PutUint32(head[56:], 1)
	be.PutUint32(head[96:], 4) // counts of 16 bits
	be.PutUint32(head[100:], headerLength)

	for i := range blocks {
		be.PutUint64(head[cluster+8*i:], uint64((2+i)*cluster))
	}

	for i := range 2 + blocks + first + second + data {
		be.PutUint16(head[2*cluster+2*i:], 1)
	}

	table, block := atSecond, atData

	for t, there := range tables {
		if !there {
			continue
		}

		be.PutUint64(head[atFirst+8*int64(t):], uint64(table)|owned)

		for i := t * perTable; i < min((t+1)*perTable, len(used)); i++ {
			if used[i] {
				be.PutUint64(head[table+8*int64(i-t*perTable):], uint64(block)|owned)
				block += cluster
			}
		}

		table += cluster
	}

	return head
}
