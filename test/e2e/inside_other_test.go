// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e

import (
	"context"
	"net"
	"testing"

	"github.com/seed-59268b81/talos/lab"
)

// insideOf returns nil: only Linux has networks that a process can enter.
func insideOf(*testing.T, *lab.Node) func(context.Context, string, string) (net.Conn, error) {
	return nil
}
