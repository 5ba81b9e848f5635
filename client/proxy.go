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

// connectTimeout bounds what a proxy may take to reach an endpoint.
const connectTimeout = 20 * time.Second

// maxConnectResponse is the most that is read of a proxy's answer to CONNECT, in bytes.
const maxConnectResponse = 64 << 10

// WithProxy has the client reach its endpoints through a proxy, http://, https:// or socks5://[NAME:PASSWORD@]HOST[:PORT].
// TLS goes through it from end to end, and the proxy resolves the endpoints' names.
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

// CheckProxy tells what is wrong with the address of a proxy.
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
		// What url.Parse says repeats the address, with its password.
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
			d.ContextDialer = dialer.(proxy.ContextDialer) // golang.org/x/net/proxy promises it
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

// connectDialer has an HTTP proxy open a tunnel (RFC 9110, section 9.3.6).
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

	stop := context.AfterFunc(ctx, func() { conn.Close() }) // it is given up

	err = d.connect(conn, endpoint)
	if !stop() {
		err = ctx.Err()
	}

	if err != nil {
		conn.Close() // nothing was said over it yet

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

	// A server of TLS speaks second, so that a byte more than the answer is none of its.
	if n := reader.Buffered(); n > 0 {
		return fmt.Errorf("it sent %d bytes after its answer", n)
	}

	return nil
}
