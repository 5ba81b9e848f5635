// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
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

// evidence is the driver of the firmware's memory in which the kernel keeps its last lines. A system that panics before machined has loaded
// all drivers leaves its reason there too, and the system before it reads why its successor's trial failed.
const evidence = "efi_pstore"

// Plug loads the drivers of the disks and network cards of this machine, the file system of the volumes, and the driver that keeps the
// evidence of a crash.
func Plug() {
	log := openKmsg()

	modules, err := module.NewLoader()
	if err == nil {
		err = modules.Cards("/sys")
	}

	if err == nil {
		err = modules.Load("xfs")
	}

	if err == nil {
		if err = modules.Load(evidence); errors.Is(err, module.ErrNotFound) {
			err = nil
		}
	}

	if err != nil {
		log.errorf("preload drivers: %v", err)
	}
}
