// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/sys/netns"
)

// insideOf returns a function that connects from within the network of a container; nil if this process cannot enter it.
func insideOf(t *testing.T, n *lab.Node) func(context.Context, string, string) (net.Conn, error) {
	status, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	path := fmt.Sprintf("/proc/%d/ns/net", status.Machine.PID)

	dial := func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		entered := netns.Do(path, func() error {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, address)

			return nil
		})
		if entered != nil {
			return nil, entered
		}

		return conn, err
	}

	if os.Geteuid() != 0 || netns.Do(path, func() error { return nil }) != nil {
		return nil
	}

	return dial
}
