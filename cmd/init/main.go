// SPDX-License-Identifier: Apache-2.0

// Command init is process 1 of the initramfs: it mounts the root image and executes its /sbin/init. It is a
// separate program, not a name of the multi-call program, because the root image already has the multi-call
// program: a second copy would be loaded and decompressed at each boot.
package main

import (
	"os"

	"github.com/seed-59268b81/talos/machine/boot"
)

func main() {
	if os.Args[0] == boot.PlugName {
		boot.Plug()

		return
	}

	boot.Initramfs()
}
