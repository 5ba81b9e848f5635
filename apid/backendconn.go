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

// backendConn is a connection to machined or to another node, after its handshake. What comes in by it is counted, and
// it knows why the other side hung up at once.
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

// alertWait is for an alert that has come before the connection broke.
const alertWait = time.Second / 10

// alert returns what the other side has said of why it hung up, if it has. With TLS 1.3 it refuses a certificate after
// the client's handshake is done: the client writes, and that its pipe is broken is no help to anybody.
func (c *backendConn) alert() error {
	c.SetReadDeadline(time.Now().Add(alertWait)) // then it is closed, which Read says

	_, err := c.Conn.Read(make([]byte, 1))

	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return err
	}

	return nil
}
