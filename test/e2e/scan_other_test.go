// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/seed-59268b81/talos/lab"
)

func lookup(t *testing.T, _ *lab.Node, _, _ string) ([]string, error) {
	t.Skip("a socket in another network namespace needs Linux")

	return nil, errors.ErrUnsupported
}

func scanner(t *testing.T, _ *lab.Node, _ netip.Addr) func(ports []uint16) []uint16 {
	t.Skip("a socket in another network namespace needs Linux")

	return nil
}

func listenIn(t *testing.T, _ *lab.Node, _ netip.AddrPort) net.Listener {
	t.Skip("a socket in another network namespace needs Linux")

	return nil
}
