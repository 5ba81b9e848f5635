// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"
	"google.golang.org/grpc"
)

// connectTimeout is how long a proxy may take to reach an endpoint.
const connectTimeout = 20 * time.Second

// maxConnectResponse is the largest answer of a proxy to CONNECT, in bytes.
const maxConnectResponse = 64 << 10

// WithProxy connects to the endpoints through a proxy, http://, https:// or socks5://[NAME:PASSWORD@]HOST[:PORT]. TLS is end to
// end, and the proxy resolves the endpoints' names.
func WithProxy(address string) Option {
	return func(s *settings) error {
		dial, err := proxyDialer(address)
		if err != nil {
			return err
		}

		s.dial = append(s.dial, grpc.WithContextDialer(func(ctx context.Context, endpoint string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, connectTimeout)
			defer cancel()

			conn, err := dial.DialContext(ctx, "tcp", endpoint)
			if err != nil {
				return nil, fmt.Errorf("reach %s through the proxy %s: %w", endpoint, dial.url.Redacted(), err)
			}

			return conn, nil
		}))

		return nil
	}
}

// CheckProxy checks the address of a proxy.
func CheckProxy(address string) error {
	_, err := proxyDialer(address)

	return err
}

// namedDialer is the dialer of a proxy.
type namedDialer struct {
	proxy.ContextDialer
	url *url.URL
}

func proxyDialer(address string) (d namedDialer, err error) {
	d.url, err = url.Parse(address)
	if err != nil {
		// The error of url.Parse contains the address with its password.
		return d, errors.New("the proxy's address is not a URL: want http://, https:// or socks5://HOST:PORT")
	}

	if d.url.Hostname() == "" || d.url.Path != "" && d.url.Path != "/" {
		return d, fmt.Errorf("proxy %q: want http://, https:// or socks5://HOST:PORT", d.url.Redacted())
	}

	switch d.url.Scheme {
	case "http":
		d.ContextDialer = connectDialer{proxy: d.url, address: hostPort(d.url, "80")}
	case "https":
		d.ContextDialer = connectDialer{proxy: d.url, address: hostPort(d.url, "443")}
	case "socks5", "socks5h":
		var dialer proxy.Dialer

		if dialer, err = proxy.FromURL(d.url, proxy.Direct); err == nil {
			d.ContextDialer = dialer.(proxy.ContextDialer) // golang.org/x/net/proxy guarantees it
		}
	default:
		err = fmt.Errorf("proxy %q: scheme %q is not one of http, https and socks5", d.url.Redacted(), d.url.Scheme)
	}

	return d, err
}

func hostPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}

	return net.JoinHostPort(u.Hostname(), port)
}

// connectDialer opens tunnels through an HTTP proxy (RFC 9110, section 9.3.6).
type connectDialer struct {
	proxy   *url.URL
	address string
}

// DialContext implements proxy.ContextDialer.
func (d connectDialer) DialContext(ctx context.Context, network, endpoint string) (net.Conn, error) {
	conn, err := d.dial(ctx, network)
	if err != nil {
		return nil, err
	}

	stop := context.AfterFunc(ctx, func() { conn.Close() }) // it is abandoned

	err = d.connect(conn, endpoint)
	if !stop() {
		err = ctx.Err()
	}

	if err != nil {
		conn.Close() // nothing was sent over it yet

		return nil, err
	}

	return conn, nil
}

func (d connectDialer) dial(ctx context.Context, network string) (net.Conn, error) {
	if d.proxy.Scheme == "https" {
		return (&tls.Dialer{Config: &tls.Config{ServerName: d.proxy.Hostname(), MinVersion: tls.VersionTLS12}}).DialContext(ctx, network, d.address)
	}

	return (&net.Dialer{}).DialContext(ctx, network, d.address)
}

func (d connectDialer) connect(conn net.Conn, endpoint string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: endpoint}, Host: endpoint, Header: http.Header{}}

	if d.proxy.User != nil {
		password, _ := d.proxy.User.Password()
		request.Header.Set("Proxy-Authorization", basicAuthorization(d.proxy.User.Username(), password))
	}

	if err := request.Write(conn); err != nil {
		return err
	}

	reader := bufio.NewReader(io.LimitReader(conn, maxConnectResponse))

	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}

	response.Body.Close() // the answer to CONNECT has none

	if response.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", response.Status)
	}

	// A TLS server does not speak first, so further bytes cannot come from the endpoint.
	if n := reader.Buffered(); n > 0 {
		return fmt.Errorf("it sent %d bytes after its answer", n)
	}

	return nil
}
