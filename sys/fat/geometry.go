// SPDX-License-Identifier: Apache-2.0

package fat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Limits of the format.
const (
	minClusters = 65525
	maxClusters = 0x0ffffff5
	rootCluster = 2

	reservedSectors = 32
	infoSector      = 1
	backupSector    = 6
	copies          = 2

	// maxTable limits the memory for the table of clusters.
	maxTable = 64 << 20
)

var le = binary.LittleEndian

// geometry is where the parts of a file system are; in sectors, except size and cluster.
type geometry struct {
	// sector and cluster are sizes in bytes.
	sector, cluster int64
	reserved        int64
	copies          int64
	table           int64
	total           int64
	// root is the first cluster of the root folder.
	root uint32
}

func (g geometry) perCluster() int64 { return g.cluster / g.sector }
func (g geometry) data() int64       { return g.reserved + g.copies*g.table }

// clusters is the number of clusters; they are numbered from 2.
func (g geometry) clusters() int64 { return (g.total - g.data()) / g.perCluster() }

// at returns the offset of a cluster in bytes.
func (g geometry) at(cluster uint32) int64 {
	return g.data()*g.sector + int64(cluster-2)*g.cluster
}

func (g geometry) valid(cluster uint32) bool {
	return cluster >= 2 && int64(cluster) < g.clusters()+2
}

// smallDisk is the size from which clusters have 4 KiB, as everywhere; smaller ones have one sector.
const smallDisk = 260 << 20

// plan returns the geometry of a new file system.
func plan(size, sector uint64) (geometry, error) {
	if sector != 512 && sector != 1024 && sector != 2048 && sector != 4096 {
		return geometry{}, fmt.Errorf("sectors of %d bytes are not supported", sector)
	}

	g := geometry{
		sector: int64(sector), cluster: int64(sector), reserved: reservedSectors, copies: copies,
		total: int64(min(size/sector, 1<<32-1)), root: rootCluster,
	}

	if size >= smallDisk {
		g.cluster = max(4096, g.sector)
	}

	// A table that covers all of the partition covers the clusters too.
	g.table = ((g.total/g.perCluster()+2)*4 + g.sector - 1) / g.sector

	if g.total <= g.data() || g.clusters() < minClusters {
		return geometry{}, fmt.Errorf("%d MiB are too small for FAT32", size>>20)
	}

	if g.clusters() > maxClusters || g.table*g.sector > maxTable {
		return geometry{}, fmt.Errorf("%d MiB are too large", size>>20)
	}

	return g, nil
}

// parse reads the geometry in a boot sector.
func parse(b []byte, size int64) (geometry, error) {
	if len(b) < 512 || b[510] != 0x55 || b[511] != 0xaa || string(b[82:90]) != "FAT32   " {
		return geometry{}, errors.New("it is not FAT32")
	}

	g := geometry{
		sector: int64(le.Uint16(b[11:])), reserved: int64(le.Uint16(b[14:])), copies: int64(b[16]),
		table: int64(le.Uint32(b[36:])), total: int64(le.Uint32(b[32:])), root: le.Uint32(b[44:]),
	}
	g.cluster = g.sector * int64(b[13])

	switch {
	case g.sector != 512 && g.sector != 1024 && g.sector != 2048 && g.sector != 4096:
		return geometry{}, fmt.Errorf("sectors of %d bytes are not supported", g.sector)
	case bits.OnesCount8(b[13]) != 1 || g.cluster > 128<<10:
		return geometry{}, fmt.Errorf("clusters of %d sectors are not valid", b[13])
	case g.reserved == 0 || g.copies == 0 || g.copies > 2 || g.table == 0 || le.Uint16(b[17:]) != 0 || le.Uint16(b[22:]) != 0 || le.Uint16(b[42:]) != 0:
		return geometry{}, errors.New("the boot sector is not valid")
	case g.table*g.sector > maxTable:
		return geometry{}, fmt.Errorf("a table of %d sectors is too large", g.table)
	case g.total*g.sector > size:
		return geometry{}, fmt.Errorf("it has %d bytes, and the partition %d", g.total*g.sector, size)
	case g.total <= g.data() || g.clusters() < 1 || (g.clusters()+2)*4 > g.table*g.sector || g.clusters() > maxClusters:
		return geometry{}, errors.New("the table and the clusters do not fit each other")
	case !g.valid(g.root):
		return geometry{}, fmt.Errorf("root folder at cluster %d is not valid", g.root)
	}

	return g, nil
}
