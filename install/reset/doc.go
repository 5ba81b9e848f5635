// SPDX-License-Identifier: Apache-2.0

// Package reset decides what a reset wipes, and in which order.
//
// A Record names what is wiped. It is in META before anything is destroyed, and leaves META last, so a reset that was cut off goes on at the
// next boot, before anything on the disk is used. Steps is a pure function from a record to what is to be done. Each step can be done again,
// so the record has no progress: after a cut all steps are done from the first one.
//
// # Order
//
// What holds secrets is wiped first: STATE with the configuration, EPHEMERAL with the data of etcd and of pods, then the disks of users. Then
// the other partitions, and those that the machine boots from. META is the last; when the whole system disk is wiped, its partition table
// comes after META.
//
//	cut before the record is in META      nothing has changed
//	cut before the boot partitions        the next boot goes on
//	cut in the boot partitions, or later  the machine does not boot, and there is nothing left on it but values of META
//
// # What wiped means
//
// STATE is small, and each byte of it is overwritten. Large devices are not: both ends are overwritten, so that nothing is recognised on them,
// and the device is told to discard everything (TRIM), which not every device does. Overwriting terabytes takes hours, and a machine that is
// handed to others needs another method anyway: talosctl wipe disk --method ZEROES, or the disk's own.
package reset
