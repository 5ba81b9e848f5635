// SPDX-License-Identifier: Apache-2.0

// Package module loads Linux kernel modules: what modprobe and a coldplug do, without a shell or
// a process. The initramfs, PID 1, the kernel's own requests (Modprobe) and the image builder (WriteSubset)
// share it.
//
// An Index is the knowledge of one kernel's modules: files, dependencies, soft dependencies, aliases and
// what is built in. It is read from the text files that depmod leaves in /lib/modules/RELEASE; those of an image
// have the lines of its modules. The binary .bin twins are neither read nor written: the text of a cloud
// kernel parses in milliseconds.
//
// Not supported, on purpose: modprobe.d files (blacklists, install commands, options); parameters come from
// the machine configuration.
package module
