// SPDX-License-Identifier: Apache-2.0

// Package boot is what runs before the controllers: the whole of the initramfs (Initramfs), and the start of machined (Early).
// It is the only sequence of steps in the system.
//
// The initramfs holds one small program, the few modules needed to mount a squashfs file, and that file. So no disk is read
// before machined runs, and a machine with a broken disk still boots far enough to report it. The program is not the OS binary,
// which would be stored, and unpacked into memory, a second time.
//
// All messages go to the kernel log, the only log at this time.
package boot
