// SPDX-License-Identifier: Apache-2.0

// Package netswitch is an Ethernet switch in user space.
//
// Virtual machines connect with QEMU's stream netdev: a Unix socket that carries each frame after its length, four
// bytes, big endian. Code in the same process, such as the lab's gateway, connects with Attach. The switch learns the
// addresses of each port. It can also impair the traffic: delay, loss, duplication, damage, a limit of bandwidth, a
// black hole for long frames, a block of UDP or a cut. Faults are set for a port in either direction, or for the
// one-way path from one port to another; partitions are made of paths. The faults of the sender's link apply once to a
// broadcast, those of paths to each copy.
//
// Capture writes the frames as a pcapng file, which Wireshark reads.
//
// Faults belong to the names of ports: they stay when a machine's power is cut and switched on again.
//
// A bridge in the kernel with netem was rejected: it needs root, and the lab's subnet on the host can collide with
// another.
//
// The path of a frame: the reader of its port looks up the output port, applies the faults and puts the frame in that
// port's queue. The port's writer writes the whole queue with one system call. A full queue drops frames, as in a real
// switch, so that a stopped machine does not delay the others. Addresses and faults are immutable snapshots, so that
// the only lock on the path is the queue's.
package netswitch
