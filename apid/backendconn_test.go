// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
)

// TestAlertOfWhoHungUp: a server refuses the client's certificate with an alert and closes the connection before the client, which has
// finished its handshake, writes.
func TestAlertOfWhoHungUp(t *testing.T) {
	ca := newCA(t)
	ours, theirs := view(t, ca), view(t, newCA(t))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	gone := make(chan error, 1)

	go func() {
		conn, err := l.Accept()
		if err != nil {
			gone <- err

			return
		}

		err = tls.Server(conn, &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
			Certificates: []tls.Certificate{*ours.Server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: theirs.CAs,
		}).Handshake()
		conn.Close() // it has nothing more to say

		if err == nil {
			err = errors.New("the certificate was accepted")
		} else {
			err = nil
		}

		gone <- err
	}()

	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	counted := 0
	creds := backendCreds{credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*ours.Client}, RootCAs: ours.CAs,
	}), func(bytes int) { counted += bytes }}

	conn, _, err := creds.Clone().ClientHandshake(t.Context(), l.Addr().String(), raw)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if err := <-gone; err != nil {
		t.Fatal(err)
	}

	// The first write succeeds, the next one fails.
	for range 100 {
		if _, err = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\n"); err != nil {
			break
		}
	}

	if err == nil || !strings.HasPrefix(err.Error(), "remote error: tls: ") {
		t.Errorf("got %v, want the server's alert", err)
	}

	if counted != 0 {
		t.Errorf("got %d bytes counted, want none of an alert", counted)
	}
}

// pipe is a connection that can be read, but not written.
type pipe struct{ net.Conn }

func (pipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestBrokenPipe breaks connections without an alert, before and after the first received byte.
func TestBrokenPipe(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()

	counted := 0
	conn := &backendConn{Conn: pipe{a}, grow: func(bytes int) { counted += bytes }}

	if _, err := io.WriteString(conn, "x"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("before the first byte: got %v, want it unchanged", err)
	}

	go io.WriteString(b, "abcdef") // all of it is read

	conn.SetReadDeadline(time.Time{}) // a pipe has them

	if _, err := io.ReadFull(conn, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}

	if _, err := io.WriteString(conn, "x"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("after it: got %v, want it unchanged", err)
	}

	if rest, err := io.ReadAll(io.LimitReader(conn, 3)); string(rest) != "def" || err != nil {
		t.Errorf("got %q, %v, want the unread rest", rest, err)
	}

	if counted != 6 {
		t.Errorf("got %d bytes counted, want 6", counted)
	}
}
