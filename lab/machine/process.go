// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts a program with a Pdeathsig. The kernel sends that signal when the thread that started the program ends,
// so the thread stays until the program has ended. The result of Wait is sent to ended, which needs a buffer.
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

// SocketPair returns the two ends of a connection: this program's, and that of a program to start. The kind is
// syscall.SOCK_STREAM or another.
func SocketPair(kind int) (net.Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a socket pair: %w", err)
	}

	near, far := os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	defer near.Close() // FileConn has its own copy

	conn, err := net.FileConn(near)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("create a socket pair: %w", err), far.Close())
	}

	return conn, far, nil
}
