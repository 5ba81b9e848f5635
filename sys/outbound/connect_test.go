// SPDX-License-Identifier: Apache-2.0

package outbound_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/sys/outbound"
)

// echo runs a server that returns what it receives.
func echo(t *testing.T) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { l.Close() })

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}

			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()

	return l.Addr().String()
}

// proxy runs a proxy that answers a request to connect with these lines, and then connects to a server.
func proxy(t *testing.T, answer, to string) (at string, asked <-chan string) {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { l.Close() })

	requests := make(chan string, 1)

	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()

		in := bufio.NewReader(conn)

		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}

		requests <- request.Method + " " + request.Host + " " + request.Header.Get("Proxy-Authorization")

		io.WriteString(conn, answer)

		if to == "" {
			return
		}

		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()

		go func() {
			io.Copy(server, in)
			server.(*net.TCPConn).CloseWrite()
		}()

		io.Copy(conn, server)
	}()

	return l.Addr().String(), requests
}

func useProxy(t *testing.T, proxy, except string) {
	t.Helper()

	for name, value := range map[string]string{"HTTPS_PROXY": proxy, "https_proxy": "", "NO_PROXY": except, "no_proxy": ""} {
		t.Setenv(name, value)
	}
}

func answers(t *testing.T, conn net.Conn) {
	t.Helper()

	defer conn.Close()

	got := make([]byte, 5)

	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}

	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v, want what was sent", got, err)
	}
}

func TestConnect(t *testing.T) {
	server := echo(t)
	at, asked := proxy(t, "HTTP/1.1 200 Connection established\r\n\r\n", server)

	useProxy(t, "", "")

	conn, err := outbound.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}

	answers(t, conn)

	useProxy(t, "http://user:secret@"+at, "")

	if conn, err = outbound.Connect(t.Context(), "discovery.example:443"); err != nil {
		t.Fatal(err)
	}

	if got, want := <-asked, "CONNECT discovery.example:443 Basic dXNlcjpzZWNyZXQ="; got != want {
		t.Errorf("the proxy was asked %q, want %q", got, want)
	}

	answers(t, conn)
}

func TestConnectFails(t *testing.T) {
	for name, answer := range map[string]string{
		"it answered 403":             "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
		"malformed HTTP":              "SSH-2.0-OpenSSH\r\n\r\n",
		"before it was connected":     "HTTP/1.1 200 OK\r\n\r\nmore",
		"its scheme is \"socks5\"":    "",
		"through the proxy http://us": "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
	} {
		at, _ := proxy(t, answer, "")

		scheme := "http"
		if answer == "" {
			scheme = "socks5"
		}

		useProxy(t, scheme+"://user:secret@"+at, "")

		_, err := outbound.Connect(t.Context(), "discovery.example:443")
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want an error with %q and without the password", err, name)
		}
	}
}

// TestConnectEnds: a proxy that says nothing is not waited for.
func TestConnectEnds(t *testing.T) {
	silent := echoNothing(t)
	useProxy(t, "http://"+silent, "")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	if _, err := outbound.Connect(ctx, "discovery.example:443"); err == nil {
		t.Error("got a connection through a proxy that says nothing")
	}
}

func echoNothing(t *testing.T) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { l.Close() })

	return l.Addr().String()
}
