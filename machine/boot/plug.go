// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/seed-59268b81/talos/sys/module"
)

// PlugName is the name by which init is run to load drivers.
const PlugName = "plug"

// plugCards starts a process that loads the drivers of disks and network cards out of the new root, beside the start of
// its init: that is one thread's work, and waits for the drivers as soon as it is done. What is not loaded then, machined
// loads itself.
func plugCards() error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{PlugName}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: newRoot}

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("load drivers ahead: %w", err)
	}

	return cmd.Process.Release()
}

// Plug loads the drivers of the disks and network cards that there are, and the file system of the volumes.
func Plug() {
	log := openKmsg()

	modules, err := module.NewLoader()
	if err == nil {
		err = modules.Cards("/sys")
	}

	if err == nil {
		err = modules.Load("xfs")
	}

	if err != nil {
		log.errorf("load drivers ahead: %v", err)
	}
}
