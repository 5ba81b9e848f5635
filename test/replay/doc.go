// SPDX-License-Identifier: Apache-2.0

// Package replay shows what a power cut at any time would leave of a disk that was really written to. QEMU's filter blklogwrites records each
// write, flush and discard that reaches a disk: of a machine (lab/qemu), or of a device of this computer (Record), to which a test writes with
// the system's own code, through the kernel's block layer and file systems. From such a record, States makes the disk as it is after a cut:
// all that was flushed, and any of the writes since, whole or torn.
//
// A state is not copied: it is a map from sectors to the places where their content is, in the disk before the record or in the log. So
// thousands of them are looked at in a minute. A state can be written to, so that the system's code goes on where the power was cut.
//
// Package test/powercut does the same with a disk in memory, for code that writes to an interface. It sees the order in which that code writes,
// and not what the kernel and file systems make of it.
//
// # What a disk may do
//
// A flush that has returned makes durable all writes that returned before it. Between two flushes any subset of the writes may be there, in
// any order. A sector of 512 bytes is written as a whole; a longer write may be torn at any sector. What was discarded may be what it was,
// zeros, or anything.
package replay
