// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// messageType is the media type of a DNS message (RFC 8484, 6).
const messageType = "application/dns-message"

// overHTTPS asks over HTTPS, at the path that most servers have.
func (c *Client) overHTTPS(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
	body, err := query.Pack()
	if err != nil {
		return nil, err
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, dohURL(to), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}

	request.Header.Set("Content-Type", messageType)
	request.Header.Set("Accept", messageType)

	response, err := c.https.of(c, to).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", response.Status)
	}

	wire, err := io.ReadAll(io.LimitReader(response.Body, maxMessage+1))
	if err != nil {
		return nil, err
	}

	if len(wire) > maxMessage {
		return nil, errors.New("the answer is too large")
	}

	answer := &dns.Msg{}

	return answer, answer.Unpack(wire)
}

func dohURL(to Upstream) string {
	host := to.certificateName()
	if port := to.Addr.Port(); port != DoH.Port() {
		host = net.JoinHostPort(host, fmt.Sprint(port))
	} else if to.ServerName == "" && to.Addr.Addr().Is6() {
		host = "[" + host + "]"
	}

	return (&url.URL{Scheme: "https", Host: host, Path: "/dns-query"}).String()
}

// httpsClients are the clients of upstreams.
type httpsClients struct {
	mu      sync.Mutex
	clients map[Upstream]*http.Client
}

// of returns the client of an upstream. It connects to the upstream's address whatever its name is, and follows no redirect.
func (h *httpsClients) of(c *Client, to Upstream) *http.Client {
	h.mu.Lock()
	defer h.mu.Unlock()

	if client, ok := h.clients[to]; ok {
		return client
	}

	client := &http.Client{
		Transport: &http.Transport{
			DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return c.dialTLS(ctx, to, "h2", "http/1.1")
			},
			ForceAttemptHTTP2:     true,
			MaxConnsPerHost:       maxIdle,
			IdleConnTimeout:       idleTime,
			ResponseHeaderTimeout: queryTimeout,
			// A server of another machine decides how large its headers are.
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       queryTimeout + time.Second,
	}

	if h.clients == nil {
		h.clients = map[Upstream]*http.Client{}
	}

	h.clients[to] = client

	return client
}

func (h *httpsClients) close() {
	h.mu.Lock()
	defer h.mu.Unlock()

	for _, client := range h.clients {
		client.CloseIdleConnections()
	}

	h.clients = nil
}
