// SPDX-License-Identifier: Apache-2.0

// Package boot is what runs before there is anything to react to: the whole of the initramfs (Initramfs),
// and the first dozen lines of machined (Early). It is a sequence, the only one in the system; everything
// after it is controllers.
//
// The initramfs holds one small program, the few modules needed to mount a squashfs file, and that file.
// So no disk driver is loaded and no disk is looked at before machined runs, and a machine with a broken
// disk still comes up far enough to say so. The program is not the OS binary: it would be carried, and
// unpacked into memory, a second time.
//
// Everything is said to the kernel log, the only one there is this early.
package boot
