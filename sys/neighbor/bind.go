// SPDX-License-Identifier: Apache-2.0

//go:build linux

package neighbor

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// bindTo has a socket send through one link.
func bindTo(link string) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), link) }), err)
	}
}
