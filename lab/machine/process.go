// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os/exec"
	"runtime"
)

// Start starts a program whose Pdeathsig the kernel sends when the thread ends
// that started it, so that thread stays until the program has ended. How it
// ended is sent to ended, which needs room for it.
func Start(cmd *exec.Cmd, ended chan<- error) error {
	started := make(chan error)

	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()

		err := cmd.Start()
		started <- err

		if err == nil {
			ended <- cmd.Wait()
		}
	}()

	return <-started
}
