// SPDX-License-Identifier: Apache-2.0

// Package meta keeps small values on the raw partition META, such as the boot entry that is on trial: they are needed before any file
// system can be read. A value has a tag of one byte.
//
// # Format
//
// The partition has 1 MiB. It begins with two slots of 256 KiB. Each is a complete copy:
//
//	offset  size
//	0       8     magic "TALOSADV"
//	8       8     sequence number, big endian
//	16      4     length of the values, big endian
//	20      4     zero
//	24      32    SHA-256 of bytes 0 to 23 and the values
//	56      …     the values: for each, ascending by tag: tag (1), length (4, big endian), bytes
//
// The slot with the higher sequence number and a valid checksum counts. A write goes to the other slot, with the next number, and is
// flushed. So a power cut leaves either the old values or the new ones.
//
// The last 1024 bytes hold a legacy copy in the format of the SYSLINUX auxiliary data vector, twice: 512
// bytes with a leading magic, a checksum, 500 bytes of tag (1), length (1), value, and a trailing magic, all
// little endian. It has the values that fit, and is read only when neither slot was ever written: then another program wrote it.
//
// A partition of zeros is an empty META. A partition without a valid slot or legacy copy is damaged if bytes at the start of a slot
// are not zero. That is an error, and the next Set starts with no values. One slot that is not valid, beside another and a legacy copy that
// were never written, is what a power cut leaves of the first write: an empty META.
package meta
