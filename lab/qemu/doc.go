// SPDX-License-Identifier: Apache-2.0

// Package qemu runs one virtual machine.
//
// A Machine has a power button: On, Off (asks the guest), Cut (does not ask) and Reset. Its Status shows the guest's
// own actions: a reboot counts as another boot, and when the guest powers off or QEMU fails, the status has the reason.
//
// QEMU inherits its connections as sockets (the network card's stream to the lab's switch, the control protocol QMP)
// and pipes (the serial console). They need no paths, and all of them end when one side ends.
package qemu
