// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// certificate returns that of httptest, for example.com and 127.0.0.1, with its authority.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()

	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()

	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())

	return s.TLS.Certificates[0], roots
}

func records(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("x. 60 IN A 192.0.2.%d", i))
	}

	return out
}

// serve runs a server for UDP and TCP, or TLS, on the loopback, and returns its address.
func serve(t *testing.T, config *tls.Config, handle dns.HandlerFunc) netip.AddrPort {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	at := netip.MustParseAddrPort(l.Addr().String())
	servers := []*dns.Server{{Listener: l, Handler: handle}}

	if config != nil {
		servers[0].Listener = tls.NewListener(l, config)
	} else {
		p, err := net.ListenPacket("udp", at.String())
		if err != nil {
			t.Fatal(err)
		}

		servers = append(servers, &dns.Server{PacketConn: p, Handler: handle})
	}

	for _, s := range servers {
		ended, ready := make(chan error, 1), make(chan struct{})
		s.NotifyStartedFunc = func() { close(ready) }

		go func() { ended <- s.ActivateAndServe() }()

		<-ready

		t.Cleanup(func() {
			_ = s.Shutdown()

			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}

	return at
}

func exchange(t *testing.T, c *Client, to Upstream) (*dns.Msg, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), queryTimeout)
	defer cancel()

	return c.Exchange(ctx, to, new(dns.Msg).SetQuestion("x.", dns.TypeA).SetEdns0(maxDatagram, false))
}

// TestPlain: UDP, TCP for a large answer, a lost packet, a server without EDNS, and the answer to another question.
func TestPlain(t *testing.T) {
	var c Client
	defer c.Close()

	var queries atomic.Int32

	for _, tt := range []struct {
		name    string
		handle  func(w dns.ResponseWriter, q *dns.Msg)
		answers int
		err     string
	}{
		{"small", func(w dns.ResponseWriter, q *dns.Msg) { _ = w.WriteMsg(answerFrom(q, records(3), 0)) }, 3, ""},
		{"large", func(w dns.ResponseWriter, q *dns.Msg) {
			m := answerFrom(q, records(200), 0)
			if w.RemoteAddr().Network() == "udp" {
				m.Truncate(maxDatagram)
			}

			_ = w.WriteMsg(m)
		}, 200, ""},
		{"a lost packet", func(w dns.ResponseWriter, q *dns.Msg) {
			if queries.Load() > 1 {
				_ = w.WriteMsg(answerFrom(q, records(1), 0))
			}
		}, 1, ""},
		{"no EDNS", func(w dns.ResponseWriter, q *dns.Msg) {
			if q.IsEdns0() != nil {
				_ = w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeFormatError))

				return
			}

			_ = w.WriteMsg(answerFrom(q, records(1), 0))
		}, 1, ""},
		{"another question", func(w dns.ResponseWriter, q *dns.Msg) {
			m := answerFrom(q, records(1), 0)
			m.Question[0].Name = "y."
			_ = w.WriteMsg(m)
		}, 0, "not the answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			queries.Store(0)

			at := serve(t, nil, func(w dns.ResponseWriter, q *dns.Msg) { queries.Add(1); tt.handle(w, q) })

			answer, err := exchange(t, &c, Upstream{Addr: at})
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}

			if err == nil && len(answer.Answer) != tt.answers {
				t.Errorf("got %d records, want %d", len(answer.Answer), tt.answers)
			}
		})
	}
}

// TestTLS: the certificate must have the name, or the address; the connection is used again, also after the server closed it.
func TestTLS(t *testing.T) {
	pair, roots := certificate(t)

	var conns atomic.Int32

	at := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		conns.Add(1)

		return nil, nil
	}}, func(w dns.ResponseWriter, q *dns.Msg) {
		_ = w.WriteMsg(answerFrom(q, records(2), 0))

		if conns.Load() == 2 {
			_ = w.Close()
		}
	})

	c := &Client{Roots: func() (*x509.CertPool, error) { return roots, nil }}
	defer c.Close()

	for i, want := range []int32{1, 1, 1} {
		if answer, err := exchange(t, c, Upstream{Addr: at, Protocol: DoT, ServerName: "example.com"}); err != nil || len(answer.Answer) != 2 {
			t.Fatalf("query %d: got %v, %v", i, answer, err)
		}

		if got := conns.Load(); got != want {
			t.Errorf("query %d: got %d connections, want %d", i, got, want)
		}
	}

	for range 3 { // by its address, and on connections that the server closes
		if _, err := exchange(t, c, Upstream{Addr: at, Protocol: DoT}); err != nil {
			t.Fatal(err)
		}
	}

	for _, wrong := range []struct {
		client *Client
		name   string
	}{{c, "other.test"}, {&Client{}, "example.com"}} {
		if _, err := exchange(t, wrong.client, Upstream{Addr: at, Protocol: DoT, ServerName: wrong.name}); err == nil || !strings.Contains(err.Error(), "x509") {
			t.Errorf("%s: got %v, want an error of the certificate", wrong.name, err)
		}
	}
}

// TestEarliest: a machine whose clock is behind can check certificates.
func TestEarliest(t *testing.T) {
	built := time.Now().Add(time.Hour)
	config := (&Client{Earliest: built}).tlsConfig(Upstream{})

	if got := config.Time(); !got.Equal(built) {
		t.Errorf("got %v, want %v", got, built)
	}

	config = (&Client{Earliest: built.Add(-2 * time.Hour)}).tlsConfig(Upstream{})

	if got := config.Time(); got.Before(built.Add(-time.Hour)) {
		t.Errorf("got %v, want now", got)
	}
}

// TestHTTPS: the request is that of RFC 8484, to the address whatever the name is.
func TestHTTPS(t *testing.T) {
	behaviour := ""

	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)

		var q dns.Msg
		if err := q.Unpack(body); err != nil || r.Method != http.MethodPost || r.URL.Path != "/dns-query" || r.Header.Get("Content-Type") != messageType || r.ProtoMajor != 2 {
			t.Errorf("got %s %s %s %v, %v", r.Proto, r.Method, r.URL, r.Header, err)
		}

		switch behaviour {
		case "status":
			http.Error(w, "no", http.StatusForbidden)
		case "redirect":
			http.Redirect(w, r, "https://192.0.2.1/", http.StatusTemporaryRedirect)
		case "endless":
			for range 3 {
				_, _ = w.Write(make([]byte, 60_000))
			}
		default:
			wire, _ := answerFrom(&q, records(200), 0).Pack()
			_, _ = w.Write(wire)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()

	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())

	c := &Client{Roots: func() (*x509.CertPool, error) { return roots, nil }}
	defer c.Close()

	at := netip.MustParseAddrPort(s.Listener.Addr().String())

	for _, name := range []string{"example.com", ""} {
		if answer, err := exchange(t, c, Upstream{Addr: at, Protocol: DoH, ServerName: name}); err != nil || len(answer.Answer) != 200 {
			t.Errorf("%q: got %v, %v", name, answer, err)
		}
	}

	// The authorities that are trusted now count for a new connection.
	trusted := roots
	roots = x509.NewCertPool()

	c.Close()

	if _, err := exchange(t, c, Upstream{Addr: at, Protocol: DoH, ServerName: "example.com"}); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("an authority that is not trusted any more: got %v, want an error", err)
	}

	roots = trusted

	for wrong, want := range map[string]string{"status": "403", "redirect": "307", "endless": "too large"} {
		behaviour = wrong

		if _, err := exchange(t, c, Upstream{Addr: at, Protocol: DoH, ServerName: "example.com"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", wrong, err, want)
		}
	}

	for _, tt := range []struct{ addr, name, want string }{
		{"192.0.2.1:443", "dns.example", "https://dns.example/dns-query"},
		{"192.0.2.1:443", "", "https://192.0.2.1/dns-query"},
		{"[2001:db8::1]:443", "", "https://[2001:db8::1]/dns-query"},
		{"[2001:db8::1]:8443", "", "https://[2001:db8::1]:8443/dns-query"},
	} {
		if got := dohURL(Upstream{Addr: netip.MustParseAddrPort(tt.addr), ServerName: tt.name}); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
