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

// insideOf returns a function that connects from within the network of a container, which has another one after each boot; nil if this process
// cannot enter it.
func insideOf(t *testing.T, n *lab.Node) dialer {
	path := func(ctx context.Context) (string, error) {
		status, err := n.Status(ctx)
		if err != nil {
			return "", err
		}

		return fmt.Sprintf("/proc/%d/ns/net", status.Machine.PID), nil
	}

	dial := func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		at, err := path(ctx)
		if err != nil {
			return nil, err
		}

		entered := netns.Do(at, func() error {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, address)

			return nil
		})
		if entered != nil {
			return nil, entered
		}

		return conn, err
	}

	at, err := path(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if os.Geteuid() != 0 || netns.Do(at, func() error { return nil }) != nil {
		return nil
	}

	return dial
}
