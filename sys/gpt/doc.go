// SPDX-License-Identifier: Apache-2.0

// Package gpt reads, plans and writes GUID partition tables (UEFI specification 2.10, chapter 5).
//
// A Table is a value: reading gives one, Add and Grow change it, Write puts it down. A power cut at any
// moment of Write leaves at least one valid copy, the old or the new: the backup at the end of the disk is
// written and flushed before the primary at the start is touched. Read takes the primary when it is valid,
// else the backup, and says so in Table.Repair.
//
// Sector sizes of 512 and 4096 bytes are known. Partition numbers are entry indexes from 1. Nothing here
// tells the kernel: see package disk.
package gpt
