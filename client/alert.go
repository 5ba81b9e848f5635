// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// alertCredentials report why a server closed the connection. In TLS 1.3 a client finishes its handshake before the server checks
// the client's certificate, so a refusal appears as a broken pipe in a write.
type alertCredentials struct {
	credentials.TransportCredentials
}

// ClientHandshake implements credentials.TransportCredentials.
func (c alertCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}

	return alertConn{conn}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c alertCredentials) Clone() credentials.TransportCredentials {
	return alertCredentials{c.TransportCredentials.Clone()}
}

// alertConn replaces an error of Write with the alert that the server sent, if any.
type alertConn struct {
	net.Conn
}

// alertWait is how long to wait for an alert in transit.
const alertWait = 100 * time.Millisecond

func (c alertConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err == nil {
		return n, nil
	}

	if c.SetReadDeadline(time.Now().Add(alertWait)) != nil {
		return n, err
	}

	// The connection is lost, so its data is not needed.
	_, alert := c.Read(make([]byte, 1))
	if remote := (*net.OpError)(nil); errors.As(alert, &remote) && remote.Op == "remote error" {
		return n, alert
	}

	return n, err
}
