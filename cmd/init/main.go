// SPDX-License-Identifier: Apache-2.0

// Command init is process 1 of the initramfs: it mounts the root image and becomes /sbin/init of it. It is a
// program of its own, and not a name of the multi-call one, because the multi-call one is in the root image
// already: a second copy would be loaded and unpacked at each boot.
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
