// SPDX-License-Identifier: Apache-2.0

// Package gpt reads, plans and writes GUID partition tables (UEFI specification 2.10, chapter 5).
//
// A Table is a value: Read returns one, Add and Grow change it, Write writes it. A power cut at any time during Write leaves at least
// one valid copy, the old or the new: the backup at the end of the disk is written and flushed before the primary at the start. Read
// uses the primary if it is valid, else the backup, and reports that in Table.Repair.
//
// Sector sizes of 512 and 4096 bytes are supported. Partition numbers are indexes of entries, from 1. Package disk tells the kernel of
// changes.
package gpt
