// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/state"
)

// uses reports whether any node runs as one provisioner.
func (o *Options) uses(as state.Provisioner) bool {
	return o.ControlPlanes > 0 && o.Provisioner == as || o.Workers > 0 && o.WorkerProvisioner == as || len(o.Virtual) > 0 && as == state.QEMU
}

// checkFiles looks for the programs and images of the machines.
func (o *Options) checkFiles() []error {
	var errs []error

	if o.uses(state.QEMU) {
		errs = o.checkQEMU()
	}

	if o.uses(state.Container) && o.Image.Root == "" {
		errs = append(errs, errors.New("nothing to run in containers: no root image is configured"))
	}

	return append(errs, o.findFiles()...)
}

func (o *Options) checkQEMU() []error {
	var errs []error

	//program:qemu-system-x86_64 or another, which the user names
	path, err := exec.LookPath(cmp.Or(o.QEMU, "qemu-system-x86_64"))
	if err != nil {
		errs = append(errs, fmt.Errorf("%w: install QEMU (Debian: qemu-system-x86)", err))
	}

	o.QEMU = path

	if _, err := exec.LookPath("qemu-img"); err != nil {
		errs = append(errs, fmt.Errorf("%w: it creates the machines' disks: install it (Debian: qemu-utils)", err))
	}

	if i := o.Image; i.Disk == "" && i.CD == "" && i.Kernel == "" {
		errs = append(errs, errors.New("nothing to boot: neither a disk image nor a kernel is configured"))
	} else if i.Kernel == "" && i.Firmware == nil && !i.BIOS {
		errs = append(errs, errors.New("a disk image needs UEFI firmware to boot, and none is configured"))
	}

	return errs
}

// findFiles makes the paths of all files absolute, and checks that they exist.
func (o *Options) findFiles() []error {
	var errs []error

	files := []*string{&o.Image.Disk, &o.Image.CD, &o.Image.Kernel, &o.Image.Initrd, &o.Image.Root, &o.Image.Cache}

	if f := o.Image.Firmware; f != nil {
		f = &qemu.Firmware{Code: f.Code, Vars: f.Vars}
		o.Image.Firmware = f
		files = append(files, &f.Code, &f.Vars)
	}

	for _, file := range files {
		if *file == "" {
			continue
		}

		if _, err := os.Stat(*file); err != nil {
			errs = append(errs, fmt.Errorf("%w: build it first (make build)", err))
		}

		// The supervisor may run elsewhere.
		path, err := filepath.Abs(*file)
		if err != nil {
			errs = append(errs, err)
		}

		*file = path
	}

	return errs
}
