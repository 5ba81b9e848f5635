// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command sandbox is the stage that builds the sandbox of a service and becomes the service. Like modprobe it is a program
// of its own, because one of a tenth of the size starts ten times sooner, and the API waits for it.
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
