// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// pathLimit is the longest path that fits the address of a Unix socket, which has 108 bytes with its terminating zero.
const pathLimit = 107

// Listen opens the socket of a lab, and replaces one that a crash has left.
func Listen(socket string) (l net.Listener, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open the lab's control socket: %w", err)
		}
	}()

	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return nil, err
	}

	short, done, err := shortPath(socket)
	if err != nil {
		return nil, err
	}
	defer done()

	if l, err = net.Listen("unix", short); err != nil {
		return nil, err
	}

	// The short path is not valid any more when the listener is closed.
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}

	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}

	return l, nil
}

// shortPath returns a path in a form that fits a socket's address. It is valid until done is called.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) <= pathLimit {
		return path, func() {}, nil
	}

	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}

	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
