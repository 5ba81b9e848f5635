// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package container runs one machine of a lab in namespaces of this computer's kernel: the system's own root image and
// process 1, at native speed.
//
// A Machine has the same power button as a virtual machine (package qemu). Its Status shows the guest's own actions:
// when the first process of a PID namespace calls reboot(2), the kernel ends it with SIGHUP for a restart and with
// SIGINT for a power-off.
//
// Process 1 is started in two steps, since Go runs no code between fork and exec. The lab's own program is started in
// the new namespaces as the stage (see init). It mounts the file systems, opens the network cards and executes
// /sbin/init. The lab and the stage use a socket pair: when the process is in its cgroups and has its user and group
// ids, the lab sends the Spec, gets the descriptors of the cards, and sends "go".
//
// A network card is a tap device in the machine's network namespace. Its descriptor belongs to the lab's switch, so
// there is no bridge and no address on this computer, and the device is removed when either side ends. Cards that are
// plugged in later use descriptors of /dev/net/tun that the stage has opened: a tap device appears in the namespace in
// which its descriptor was opened.
//
// Nothing of this computer changes: the mounts are in a mount namespace without propagation, /proc/sys is read-only but
// for the machine's own network, and the cgroups are below one that the lab has created. When the lab's process is
// killed, only cgroups without processes are left; RemoveCgroups removes them by the paths in the lab's state. Process
// 1 has no open descriptors of the lab's caller, a session keyring of its own, and no capabilities to load modules, to
// access the hardware or to set the clock.
//
// Without root the machine has a user namespace with the caller's subordinate ids. With root it has none: a privileged
// pod can then mount file systems and create devices like this computer's root. A user namespace for root was rejected:
// it needs subordinate ids for root, which few computers have.
//
// runc was rejected: it cannot pass the card's descriptor, and would have to be installed.
package container
