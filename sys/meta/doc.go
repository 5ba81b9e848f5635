// SPDX-License-Identifier: Apache-2.0

// Package meta keeps small values on the raw partition META: what must survive when no file system can be
// read yet, such as which boot entry is on trial. A value has a tag, one byte.
//
// # Format
//
// The partition has 1 MiB. Two slots of 256 KiB stand at its start, one after the other. Each is a whole copy:
//
//	offset  size
//	0       8     magic "TALOSADV"
//	8       8     sequence number, big endian
//	16      4     length of the values, big endian
//	20      4     zero
//	24      32    SHA-256 of bytes 0 to 23 and the values
//	56      …     the values: for each, ascending by tag: tag (1), length (4, big endian), bytes
//
// The slot with the higher sequence number and a right checksum counts. A write goes to the other slot, with
// the next number, and is flushed. So a power cut leaves the old values or the new, whole.
//
// The last 1024 bytes hold a legacy copy in the format of the SYSLINUX auxiliary data vector, twice: 512
// bytes with a leading magic, a checksum, 500 bytes of tag (1), length (1), value, and a trailing magic, all
// little endian. It has the values that fit, and is read only when neither slot was ever written: then it
// stems from another program.
//
// A partition of zeros is an empty META. One with neither a valid slot nor a legacy copy, but with bytes that
// are not zero at a slot's start, is damaged: an error, and the next Set starts anew.
package meta
