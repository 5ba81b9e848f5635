// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// alertCredentials report why a server broke the connection off. In TLS 1.3 a client has done its part of the handshake
// before the server looks at its certificate, so a refusal meets the client while it writes, as a broken pipe.
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

// alertConn turns an error of Write into the alert which the server sent, if it did.
type alertConn struct {
	net.Conn
}

// alertWait is how long an alert that is on its way may take.
const alertWait = 100 * time.Millisecond

func (c alertConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err == nil {
		return n, nil
	}

	if c.SetReadDeadline(time.Now().Add(alertWait)) != nil {
		return n, err
	}

	// The connection is lost, so what is read here is missed by nobody.
	_, alert := c.Read(make([]byte, 1))
	if remote := (*net.OpError)(nil); errors.As(alert, &remote) && remote.Op == "remote error" {
		return n, alert
	}

	return n, err
}
