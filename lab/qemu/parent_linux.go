// SPDX-License-Identifier: Apache-2.0

package qemu

import "syscall"

// endWithParent has the kernel kill a child when its parent dies.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
