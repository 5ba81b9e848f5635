// SPDX-License-Identifier: Apache-2.0

// Package fat makes, reads and changes FAT32 file systems on a partition, without mounting it: the partitions that firmware and boot loaders
// read. It exists for the order of its writes, which FAT itself does not define and the kernel does not promise:
//
//	Create   the content, a flush; the chain of its clusters, a flush; the folder's entry, a flush
//	replace  the same, where the entry is changed to the new chain; then the old chain is freed
//	Remove   the folder's entry, a flush; then the chain is freed
//
// An entry with its long name is in one sector, which a disk writes as a whole. So after a power cut at any time, with any of the writes
// since the last flush lost, each file is the old one or the new one. What may remain are clusters of no file, which Reclaim frees.
//
// Sectors of 512 to 4096 bytes are supported; FAT12 and FAT16 are not. Nothing else may change the file system at the same time: it must not
// be mounted. diskfs/go-diskfs was rejected: it writes a folder's entry before the content, and never flushes.
package fat
