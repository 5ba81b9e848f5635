// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/seed-59268b81/talos/sys/module"
)

// PlugName is the name (argv[0]) under which init loads drivers.
const PlugName = "plug"

// plugCards starts a process that loads the drivers of disks and network cards from the new root, in parallel with the start
// of the root's init, which uses one processor and needs the drivers next. machined loads the drivers that are missing then.
func plugCards() error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{PlugName}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: newRoot}

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("preload drivers: %w", err)
	}

	return cmd.Process.Release()
}

// Plug loads the drivers of the disks and network cards of this machine, and the file system of the volumes.
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
		log.errorf("preload drivers: %v", err)
	}
}
