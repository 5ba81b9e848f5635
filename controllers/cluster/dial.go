// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net"
	"time"
)

// addressTimeout is how long one address of a control plane may take to accept a connection, if there are others.
const addressTimeout = 2 * time.Second

// dialCarrier connects to the service that a control plane carries: to the address of the source, or to another one of the same machine. Its
// certificate has all of them, and is checked for that of the source.
func (c *discovery) dialCarrier(ctx context.Context, endpoint string) (net.Conn, error) {
	var all []string
	if known := c.addresses.Load(); known != nil {
		all = (*known)[endpoint]
	}

	if len(all) == 0 {
		return dial(ctx, endpoint)
	}

	return dialFirst(ctx, all, dial)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// dialFirst connects to the first address that accepts the connection.
func dialFirst(ctx context.Context, addresses []string, dial func(ctx context.Context, address string) (net.Conn, error)) (net.Conn, error) {
	var failed error

	for _, address := range addresses {
		one, cancel := context.WithTimeout(ctx, addressTimeout)
		conn, err := dial(one, address)

		cancel()

		if err == nil {
			return conn, nil
		}

		if failed = errors.Join(failed, err); ctx.Err() != nil {
			break
		}
	}

	return nil, failed
}
