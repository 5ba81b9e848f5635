// SPDX-License-Identifier: Apache-2.0

// Package qemu runs one virtual machine.
//
// A Machine has a power button: On, Off (asks the guest), Cut (does not ask)
// and Reset. What the guest does by itself shows in its Status: a reboot counts
// as another boot, and when it powers off or QEMU fails, why.
//
// QEMU gets its connections as inherited sockets (the network card's stream to
// the lab's switch, the control protocol QMP) and pipes (the serial console), so
// that no path has to be kept short or cleaned up, and all of them end when one
// side does.
package qemu
