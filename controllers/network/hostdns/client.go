// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Client asks upstreams. The zero Client is ready to use.
type Client struct {
	// Roots returns the trusted authorities of a new connection; if it or what it returns is nil, they are those of the system.
	Roots func() (*x509.CertPool, error)
	// Earliest is a time in the past. Certificates are checked at this time if the clock is before it: a machine without a clock must
	// resolve the name of its time server.
	Earliest time.Time

	idle  idleConns
	https httpsClients
}

// Exchange sends a query to an upstream and returns its answer.
func (c *Client) Exchange(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
	var (
		answer *dns.Msg
		err    error
	)

	switch to.Protocol {
	case DoT:
		answer, err = c.overTLS(ctx, to, query)
	case DoH:
		answer, err = c.overHTTPS(ctx, to, query)
	default:
		answer, err = plain(ctx, to, query)
	}

	if err == nil {
		err = belongs(query, answer)
	}

	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", to, err)
	}

	return answer, nil
}

// Close closes idle connections.
func (c *Client) Close() {
	c.idle.close()
	c.https.close()
}

// plain asks over UDP, and over TCP if the answer is too large. A server that does not know EDNS is asked without it.
func plain(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
	answer, err := overUDP(ctx, to, query)

	if err == nil && answer.Rcode == dns.RcodeFormatError && query.IsEdns0() != nil {
		old := query.Copy()
		old.Extra = nil

		answer, err = overUDP(ctx, to, old)
	}

	if err != nil || !answer.Truncated {
		return answer, err
	}

	conn, err := dial(ctx, "tcp", to)
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	return converse(ctx, conn, query)
}

func overUDP(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
	first, cancel := context.WithTimeout(ctx, firstTry)
	defer cancel()

	// Each attempt has a port of its own, which an attacker must guess.
	answer, err := onceUDP(first, to, query)
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		return onceUDP(ctx, to, query)
	}

	return answer, err
}

func onceUDP(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
	conn, err := dial(ctx, "udp", to)
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	return converse(ctx, conn, query)
}

func dial(ctx context.Context, network string, to Upstream) (net.Conn, error) {
	var d net.Dialer

	return d.DialContext(ctx, network, to.Addr.String())
}

// converse sends a query and receives the answer. It closes the connection if the context ends before that.
func converse(ctx context.Context, conn net.Conn, query *dns.Msg) (*dns.Msg, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	client := dns.Client{Timeout: queryTimeout}

	answer, _, err := client.ExchangeWithConnContext(ctx, query, &dns.Conn{Conn: conn, UDPSize: maxDatagram})
	if err != nil && ctx.Err() != nil { // closed by the context
		err = errors.Join(err, os.ErrDeadlineExceeded)
	}

	return answer, err
}

// dialTLS connects to an upstream, with the authorities that are trusted now.
func (c *Client) dialTLS(ctx context.Context, to Upstream, protocols ...string) (net.Conn, error) {
	config := c.tlsConfig(to, protocols...)

	if c.Roots != nil {
		var err error
		if config.RootCAs, err = c.Roots(); err != nil {
			return nil, err
		}
	}

	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: queryTimeout}, Config: config}

	return dialer.DialContext(ctx, "tcp", to.Addr.String())
}

// tlsConfig returns the settings of TLS to an upstream, without authorities.
func (c *Client) tlsConfig(to Upstream, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: to.certificateName(), NextProtos: protocols,
		Time: func() time.Time {
			if now := time.Now(); now.After(c.Earliest) {
				return now
			}

			return c.Earliest
		},
	}
}

var errOther = errors.New("the message is not the answer to the query")

// belongs returns an error if a message is not the answer to the query.
func belongs(query, answer *dns.Msg) error {
	if answer == nil || !answer.Response || answer.Id != query.Id || answer.Opcode != query.Opcode || len(answer.Question) != 1 {
		return errOther
	}

	asked, said := query.Question[0], answer.Question[0]
	if !strings.EqualFold(asked.Name, said.Name) || asked.Qtype != said.Qtype || asked.Qclass != said.Qclass {
		return errOther
	}

	return nil
}
