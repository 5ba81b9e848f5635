// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package container runs one machine of a lab in namespaces of this computer's
// kernel: the system's own root image and process 1, at native speed.
//
// A Machine has the same power button as a virtual machine (package qemu). What
// the guest does by itself shows in its Status: the kernel ends the first
// process of a PID namespace with SIGHUP when it asks reboot(2) for a restart,
// and with SIGINT when it asks for the power to be switched off.
//
// Process 1 is started in two steps, since Go runs no code between fork and
// exec. The lab's own program is started in the new namespaces under the name of
// the stage (see init); there it makes the mounts, opens the network cards and
// becomes /sbin/init. The lab talks to it over a pair of sockets: it sends the
// Spec once the process is in its cgroups and has its user and group ids, gets
// the descriptors of the cards back, and says go.
//
// A network card is a tap device in the machine's network namespace. Its
// descriptor belongs to the lab's switch, so there is no bridge and no address
// on this computer, and the device is gone when either side is. Cards that are
// plugged in later are made from descriptors of /dev/net/tun that the stage
// opened: a tap device appears in the namespace in which its descriptor was
// opened, whoever asks for it.
//
// Nothing of this computer changes: the mounts are in a mount namespace without
// propagation, /proc/sys is read-only but for the machine's own network, and the
// cgroups lie below one that the lab made. What is left when the lab's process is
// killed are cgroups without processes; RemoveCgroups takes the paths that the
// lab's state keeps. Process 1 has no descriptor that the lab's caller left
// open, a session keyring of its own, and not the capabilities to load modules,
// to reach the hardware and to set the clock.
//
// Without root the machine has a user namespace of the caller's subordinate
// ids. With root it has none: a privileged pod can then mount and make devices
// as this computer's root can. A user namespace for root too was rejected, since it would
// need subordinate ids for root, which few computers have.
//
// runc could do most of this, and was rejected: it has no place for the card's
// descriptor, and a person would have to install it.
package container
