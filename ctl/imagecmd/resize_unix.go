// SPDX-License-Identifier: Apache-2.0

//go:build unix

package imagecmd

import (
	"os"
	"os/signal"
	"syscall"
)

// onResize calls tell whenever the size of the terminal changes, until ignore is called.
func onResize(tell func()) (ignore func()) {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)

	go func() {
		for range changes {
			tell()
		}
	}()

	return func() {
		signal.Stop(changes)
		close(changes)
	}
}
