// SPDX-License-Identifier: Apache-2.0

// Command modprobe loads modules on request of the kernel. It is a separate program, not a name of the multi-call
// program, because the kernel runs it dozens of times while a node boots, and a program of a tenth of the size
// starts ten times faster.
package main

import (
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/sys/module"
)

func main() {
	loader, err := module.NewLoader()
	if err != nil {
		fmt.Fprintln(os.Stderr, "modprobe:", err)
		os.Exit(1)
	}

	os.Exit(module.Modprobe(loader, os.Args[1:], os.Stderr))
}
