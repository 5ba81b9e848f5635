// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

func TestProxy(t *testing.T) {
	s := clienttest.Start(t, map[string]*clienttest.Node{"": {Version: &machine.VersionInfo{Tag: "v0"}}})
	p := clienttest.StartProxy(t)
	s.Context.ProxyURL = p.URL.String()

	if got, err := connect(t, s).Version(t.Context()); err != nil || got.GetVersion().GetTag() != "v0" {
		t.Errorf("got %v, %v, want v0", got, err)
	}

	if diff := cmp.Diff([]string{s.Endpoint}, p.Tunnels()); diff != "" {
		t.Errorf("tunnels (-want +got):\n%s", diff)
	}
}

// TestSOCKS: the proxy gets the endpoint's name (RFC 1928, section 4), not an address.
func TestSOCKS(t *testing.T) {
	s := clienttest.Start(t, map[string]*clienttest.Node{"": {Version: &machine.VersionInfo{Tag: "v0"}}})

	const asked = "machine.internal"

	proxy := listen(t, func(conn net.Conn) {
		read := func(n int) []byte {
			p := make([]byte, n)
			if _, err := io.ReadFull(conn, p); err != nil {
				t.Errorf("SOCKS: %v", err)
			}

			return p
		}

		read(int(read(2)[1]))
		conn.Write([]byte{5, 0})

		if head := read(5); !bytes.Equal(head, []byte{5, 1, 0, 3, byte(len(asked))}) || string(read(len(asked))) != asked {
			t.Errorf("SOCKS: got request %v", head)
		}

		read(2)
		conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})

		far, err := net.Dial("tcp", s.Endpoint)
		if err != nil {
			t.Error(err)

			return
		}
		defer far.Close()

		go io.Copy(conn, far)
		io.Copy(far, conn)
	})

	s.Context.ProxyURL, s.Context.Endpoints = "socks5://"+proxy, []string{asked}

	// The machine has no certificate of that name: the error shows that the tunnel works.
	if _, err := connect(t, s).Version(t.Context()); err == nil || !strings.Contains(err.Error(), "wanted to match "+asked) {
		t.Errorf("got %v", err)
	}
}

func TestProxyFails(t *testing.T) {
	s := clienttest.Start(t, map[string]*clienttest.Node{"": {}})

	for _, test := range []struct {
		name   string
		answer func(conn net.Conn)
		want   string
	}{
		{"refuses", says("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"), "it answered 403 Forbidden"},
		{"wants a password", says("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), "it answered 407 Proxy Authentication Required"},
		{"is not a proxy", says("SSH-2.0-x\r\n"), "read its answer: malformed HTTP response"},
		{"never ends its answer", says("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)), "read its answer: "},
		{"closes the connection", says(""), "read its answer: "},
		{"speaks first", says("HTTP/1.1 200 OK\r\n\r\nhello"), "it sent 5 bytes after its answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.Context.ProxyURL = "http://" + listen(t, test.answer)

			_, err := connect(t, s).Version(t.Context())
			if err == nil || !strings.Contains(err.Error(), "reach "+s.Endpoint+" through the proxy http://127.0.0.1:") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		// If it were not read, the answer would be lost with the connection.
		if _, err := conn.Read(make([]byte, 1<<16)); err == nil {
			conn.Write([]byte(text)) // the client may have heard enough
		}
	}
}

// listen calls a function for every connection to the address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { listener.Close() })

	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}

			serve(conn)
			conn.Close()
		}
	}()

	return listener.Addr().String()
}

func TestProxyAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:3128":              "",
		"https://name:secret@proxy.internal": "",
		"socks5://[::1]:1080":                "",
		"socks5h://proxy.internal":           "",
		"ftp://name:secret@proxy":            `proxy "ftp://name:xxxxx@proxy": scheme "ftp" is not one of http, https and socks5`,
		"proxy:3128":                         `proxy "proxy:3128": want http://, https:// or socks5://HOST:PORT`,
		"http://name:secret@proxy:port":      "the proxy's address is not a URL: want http://, https:// or socks5://HOST:PORT",
		"http://name:secret@proxy/path":      `proxy "http://name:xxxxx@proxy/path": want http://, https:// or socks5://HOST:PORT`,
		"":                                   `proxy "": want http://, https:// or socks5://HOST:PORT`,
	} {
		got := ""
		if err := client.CheckProxy(address); err != nil {
			got = err.Error()
		}

		if got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

// TestBasicAuth has a gateway that requires a name and a password, but no certificate.
func TestBasicAuth(t *testing.T) {
	var got []string

	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		got = md.Get("authorization")

		return stream.SendMsg(&machine.VersionResponse{Messages: []*machine.Version{{}}})
	}))
	gateway := httptest.NewUnstartedServer(server)
	gateway.EnableHTTP2 = true
	gateway.StartTLS()
	t.Cleanup(gateway.Close)

	c, err := client.Connect(&talosconfig.Context{
		Endpoints: []string{gateway.Listener.Addr().String()},
		CA:        pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: gateway.Certificate().Raw}),
		Auth:      talosconfig.Auth{Basic: &talosconfig.AuthBasic{Username: "Aladdin", Password: "open sesame"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.Close() })

	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}

	// RFC 7617, section 2.
	if diff := cmp.Diff([]string{"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSigningContextIsRefused(t *testing.T) {
	_, err := client.Connect(&talosconfig.Context{Endpoints: []string{"127.0.0.1"}, Auth: talosconfig.Auth{SideroV1: &talosconfig.AuthSideroV1{Identity: "a@b"}}})
	if err == nil || !strings.Contains(err.Error(), "auth.siderov1") {
		t.Errorf("got %v", err)
	}
}
