// SPDX-License-Identifier: Apache-2.0

// Package netswitch is an Ethernet switch in user space.
//
// Virtual machines plug into it with QEMU's stream netdev: a Unix socket that
// carries each frame behind its length, four bytes, big endian. Programs in the
// same process (the lab's gateway) plug in with Attach. The switch learns which
// address is behind which port, and can be told to hurt the traffic: delay,
// loss, duplication, damage, a limit of bandwidth, a black hole for long frames,
// a block of UDP or a cut, on a port in either direction, or on the one-way path
// from one port to another, from which partitions are made. A broadcast meets
// the faults of its sender's link once, and those of each path on its own.
//
// Capture writes what passes as a pcapng file, which Wireshark reads.
//
// Ports are known by name, and faults belong to names: a machine whose power is
// cut and returns finds its link as bad as it left it.
//
// A bridge in the kernel with netem would do the same and was rejected: it
// needs root and puts the lab's subnet on the host, where it can collide.
//
// The way of a frame: the reader of its port looks up the output port, judges
// the frame against the faults and puts it in that port's queue; the port's
// writer takes all that is queued and writes it with one system call. A full
// queue drops, as a real switch does, so that a stopped machine never holds up
// the others. Addresses and faults are read from immutable snapshots, so the
// way takes no lock but the queue's own.
package netswitch
