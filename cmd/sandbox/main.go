// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command sandbox creates the sandbox of a service and then executes the service. Like modprobe, it is a separate program,
// because a program of a tenth of the size starts ten times faster, and the API waits for it.
package main

import (
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/sys/sandbox"
)

func main() {
	fmt.Fprintln(os.Stderr, sandbox.Main())
	os.Exit(1)
}
