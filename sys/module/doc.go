// SPDX-License-Identifier: Apache-2.0

// Package module loads Linux kernel modules, as modprobe and a coldplug do, without a shell or a process. The initramfs, process 1, the
// kernel's own requests (Modprobe) and the image builder (WriteSubset) use it.
//
// An Index has one kernel's modules: files, dependencies, soft dependencies, aliases and built-in modules. It is read from the text
// files that depmod writes to /lib/modules/RELEASE; those of an image have only the lines of its modules. The binary .bin files are
// neither read nor written: the text of a cloud kernel parses in milliseconds.
//
// modprobe.d files (blacklists, install commands, options) are not supported by design; parameters come from the machine
// configuration.
package module
