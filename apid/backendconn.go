// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// backendCreds are transport credentials whose connections are backendConns.
type backendCreds struct {
	credentials.TransportCredentials

	grow func(bytes int)
}

// ClientHandshake implements credentials.TransportCredentials.
func (c backendCreds) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	inner, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, err
	}

	return &backendConn{Conn: inner, grow: c.grow}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c backendCreds) Clone() credentials.TransportCredentials {
	return backendCreds{c.TransportCredentials.Clone(), c.grow}
}

// backendConn is a connection to machined or to another node, after its handshake. It counts received bytes, and finds the
// reason why the other side closed it at once.
type backendConn struct {
	net.Conn

	grow  func(bytes int)
	heard atomic.Bool
}

// Read implements net.Conn.
func (c *backendConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)

	if n > 0 {
		c.heard.Store(true)
		c.grow(n)
	}

	return n, err
}

// Write implements net.Conn.
func (c *backendConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)

	if err != nil && !c.heard.Load() {
		if alert := c.alert(); alert != nil {
			err = alert
		}
	}

	return n, err
}

// alertWait is how long to wait for an alert that was sent before the connection broke.
const alertWait = time.Second / 10

// alert returns the TLS alert with which the other side closed the connection, if any. In TLS 1.3 a server refuses a certificate
// after the client's handshake: the client fails in a write, with the useless error "broken pipe".
func (c *backendConn) alert() error {
	c.SetReadDeadline(time.Now().Add(alertWait)) // if that fails, so does Read

	_, err := c.Conn.Read(make([]byte, 1))

	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return err
	}

	return nil
}
