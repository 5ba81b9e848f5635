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

// Dial connects to a server that speaks TLS but not HTTP/1, HOST:PORT, through the proxy for such connections, if there is one.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	proxy, err := httpproxy.FromEnvironment().ProxyFunc()(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: proxy: %w", address, err)
	}

	if proxy == nil {
		return (&net.Dialer{Timeout: connectTime}).DialContext(ctx, "tcp", address)
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

	if proxy.Scheme == "https" {
		conn, err = (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", at)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", at)
	}

	if err != nil {
		return nil, err
	}

	defer func() {
		if err != nil {
			conn.Close() // its own error says nothing more
		}
	}()

	// The end of the context ends the reads.
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })

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

	response.Body.Close() // it is empty

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
