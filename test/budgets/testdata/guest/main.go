// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command guest is the user space of a virtual machine that runs one test program on the kernel of the system: it loads kernel modules, runs
// /test with the arguments of its own command line, prints "exit status N", and powers off.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/module"
)

func main() {
	err := run()
	code := 0

	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code, err = exit.ExitCode(), nil
	}

	if err != nil {
		fmt.Println("guest:", err)

		code = 125
	}

	fmt.Println("exit status", code)

	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	for _, m := range []struct{ source, target string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}, {"tmpfs", "/run"}} {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}

		if err := unix.Mount(m.source, m.target, m.source, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}

	loader, err := module.NewLoader()
	if err != nil {
		return err
	}

	for _, name := range []string{"bonding", "8021q", "vrf", "veth"} {
		if err := loader.Load(name); err != nil {
			return err
		}
	}

	//program:built the test of a package
	test := exec.Command("/test", os.Args[1:]...)
	test.Env = []string{"PATH=/", "HOME=/tmp", "TMPDIR=/tmp"}
	test.Stdout, test.Stderr = os.Stdout, os.Stdout

	return test.Run()
}
