// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// admission are transport credentials that admit a connection to the listener after its handshake.
type admission struct {
	credentials.TransportCredentials

	log     *slog.Logger
	callers *callers
}

// ServerHandshake implements credentials.TransportCredentials.
func (a admission) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	inner, info, err := a.TransportCredentials.ServerHandshake(conn)

	t, isTLS := info.(credentials.TLSInfo)

	if c, ok := conn.(*connection); ok && err == nil {
		gone := func() {}
		if isTLS && len(t.State.PeerCertificates) == 0 {
			gone = a.callers.stranger(c)
		}

		if err = c.admit(gone); err != nil {
			gone()
			inner.Close() // it is not admitted
		}
	}

	// A port probe, which sends nothing, is not logged.
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		a.log.Warn("connection refused", "from", conn.RemoteAddr(), "error", err)
	}

	if isTLS && err == nil {
		info = &identity{TLSInfo: t, conn: conn}
	}

	return inner, info, err
}

// Clone implements credentials.TransportCredentials.
func (a admission) Clone() credentials.TransportCredentials {
	return admission{a.TransportCredentials.Clone(), a.log, a.callers}
}

// identity is the certificate and the connection of a caller.
type identity struct {
	credentials.TLSInfo

	conn net.Conn
	// accepted are the authorities that the certificate was last verified with.
	accepted atomic.Pointer[x509.CertPool]
}

func identityOf(ctx context.Context) *identity {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}

	id, _ := p.AuthInfo.(*identity)

	return id
}

// connectionOf returns the connection of a call, nil if it is not from a listener of this package.
func connectionOf(ctx context.Context) *connection {
	id := identityOf(ctx)
	if id == nil {
		return nil
	}

	c, _ := id.conn.(*connection)

	return c
}
