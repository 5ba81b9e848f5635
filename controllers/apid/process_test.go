// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
)

// TestCheckPort checks a service that answers, one that refuses every connection, and one that hangs, for which the kernel still
// accepts connections.
func TestCheckPort(t *testing.T) {
	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519})
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "a", Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	cert, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}

	handshake := func(config *tls.Config) func(net.Conn) error {
		return func(conn net.Conn) error { return tls.Server(conn, config).Handshake() }
	}

	for _, tt := range []struct {
		name  string
		serve func(net.Conn) error
		want  string
	}{
		{"answers", handshake(&tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}), ""},
		{"has no certificate yet", handshake(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errors.New("not yet") }}), ""},
		{"hangs", nil, "accepts connections and does not answer"},
		{"hangs up", func(net.Conn) error { return nil }, "accepts connections and does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()

			ended := make(chan error, 1)

			if tt.serve != nil {
				go func() {
					conn, err := l.Accept()
					if err == nil {
						err = tt.serve(conn)
						conn.Close()
					}

					ended <- err
				}()
			}

			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()

			err = checkPort(ctx, "apid", l.Addr().(*net.TCPAddr).Port) // TCP it is
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}

			// The service sees no error that it would log.
			if tt.name == "answers" {
				if err := <-ended; !errors.Is(err, io.EOF) {
					t.Errorf("the service: got %v, want EOF", err)
				}
			}
		})
	}
}
