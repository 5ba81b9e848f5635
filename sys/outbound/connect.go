// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// connectTime is the longest time that a proxy may take to connect.
const connectTime = 10 * time.Second

// Connect connects to a server that speaks TLS but not HTTP/1, HOST:PORT, through the proxy for such connections, if there is one.
func Connect(ctx context.Context, address string) (net.Conn, error) {
	proxy, err := httpproxy.FromEnvironment().ProxyFunc()(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: proxy: %w", address, err)
	}

	if proxy == nil {
		return Dial(ctx, "tcp", address)
	}

	conn, err := throughProxy(ctx, proxy, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s through the proxy %s: %w", address, proxy.Redacted(), err)
	}

	return conn, nil
}

func throughProxy(ctx context.Context, proxy *url.URL, address string) (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()

	port := map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	if port == "" {
		return nil, fmt.Errorf("its scheme is %q: want http or https", proxy.Scheme)
	}

	if proxy.Port() != "" {
		port = proxy.Port()
	}

	at := net.JoinHostPort(proxy.Hostname(), port)

	if conn, err = Dial(ctx, "tcp", at); err != nil {
		return nil, err
	}

	if proxy.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname()})
	}

	to := conn
	defer func() {
		if err != nil {
			to.Close() // its own error says nothing more
		}
	}()

	// The end of the context ends the reads.
	stop := context.AfterFunc(ctx, func() { to.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}

	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}

	if err := request.Write(conn); err != nil {
		return nil, err
	}

	in := bufio.NewReaderSize(conn, maxHeaders)

	response, err := http.ReadResponse(in, request)
	if err != nil {
		return nil, err
	}

	// The body is the connection: it is not closed.
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %s", response.Status)
	case in.Buffered() > 0:
		return nil, errors.New("it sent data before it was connected")
	case !stop():
		return nil, context.Cause(ctx)
	}

	return conn, nil
}
