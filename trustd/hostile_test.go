// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"bytes"
	"crypto/x509"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestRateLimit: a peer that guesses tokens is stopped, and the guesses do not flood the log.
func TestRateLimit(t *testing.T) {
	var log bytes.Buffer

	began := time.Now()

	t.Run("", func(t *testing.T) {
		ca := newCA(t)
		_, address := start(t, &log, newView(t, ca))
		conn := dial(t, address, ca)
		csr := requestFor(t, edKey(), x509.CertificateRequest{IPAddresses: ips("127.0.0.1")})

		var seen []codes.Code

		const tries = 500

		for range tries {
			_, err := certificate(t, conn, csr, "guess")
			seen = append(seen, status.Code(err))
		}

		allowed := requestsAtOnce + int(time.Since(began).Seconds()+1)*requestsPerSecond

		compared := 0
		for _, code := range seen {
			if code == codes.Unauthenticated {
				compared++
			} else if code != codes.ResourceExhausted {
				t.Errorf("got %v", code)
			}
		}

		if compared < requestsAtOnce || compared > allowed {
			t.Errorf("%d of %d tokens were compared, want %d to %d", compared, tries, requestsAtOnce, allowed)
		}

		// One more request is allowed each second, which may be this one.
		_, err := certificate(t, conn, csr, token)
		for range requestsAtOnce {
			if err != nil {
				break
			}

			_, err = certificate(t, conn, csr, token)
		}

		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("then the right token: got %v, want ResourceExhausted", err)
		}
	})

	if lines := strings.Count(log.String(), "\n"); lines == 0 || lines > 50+int(time.Since(began).Seconds()) {
		t.Errorf("got %d lines in the log, want some, but not one for each", lines)
	}
}

// TestHostile opens many connections that are silent, send garbage, or stop in the middle. Memory stays bounded, and another peer is
// served.
func TestHostile(t *testing.T) {
	ca := newCA(t)

	var log bytes.Buffer

	t.Run("", func(t *testing.T) {
		_, address := start(t, &log, newView(t, ca))

		var before, after runtime.MemStats

		runtime.GC()
		runtime.ReadMemStats(&before)

		var held []net.Conn

		t.Cleanup(func() {
			for _, conn := range held {
				conn.Close()
			}
		})

		open, silenced := 0, 0

		for i := range 3000 {
			// Many peers, as far as loopback allows.
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i/30), 1)}, Timeout: time.Minute}

			conn, err := dialer.DialContext(t.Context(), "tcp", address)
			if err != nil {
				silenced++

				continue
			}

			held = append(held, conn)

			switch i % 3 {
			case 0: // silent
			case 1:
				_, _ = conn.Write(bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 100))
			case 2:
				_, _ = conn.Write([]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01})
			}

			open++
		}

		if open < maxConnections {
			t.Fatalf("only %d connections, %d failed", open, silenced)
		}

		runtime.GC()
		runtime.ReadMemStats(&after)

		if grown := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse); grown > 64<<20 { // far from the end
			t.Errorf("memory grew by %d MiB", grown>>20)
		} else {
			t.Logf("memory grew by %d MiB", grown>>20)
		}

		// Some connections are closed by then: those that sent garbage.
		csr := requestFor(t, edKey(), x509.CertificateRequest{IPAddresses: ips("127.0.0.1")})

		deadline := time.Now().Add(2 * time.Minute)
		for {
			_, err := certificate(t, dial(t, address, ca), csr, token)
			if err == nil {
				break
			}

			if time.Now().After(deadline) {
				t.Fatalf("another peer is not served: %v", err)
			}

			time.Sleep(time.Second)
		}
	})

	if lines := strings.Count(log.String(), "\n"); lines > 50 {
		t.Errorf("got %d lines in the log", lines)
	}
}
