// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

const (
	dnsPort = 53
	dnsTTL  = 60 // seconds
)

func (g *Gateway) serveDNS(ctx context.Context) error {
	local := endpoint(g.cfg.Addr, dnsPort)

	packets, err := gonet.DialUDP(g.stack, &local, nil, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("start DNS: %w", err)
	}

	streams, err := gonet.ListenTCP(g.stack, local, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("start DNS: %w", err)
	}

	// Closing the sockets ends the servers; their own Shutdown needs them to have
	// started.
	context.AfterFunc(ctx, func() { _ = packets.Close(); _ = streams.Close() })

	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		_, overTCP := w.RemoteAddr().(*net.TCPAddr)
		if err := w.WriteMsg(g.answerDNS(ctx, query, overTCP)); err != nil {
			g.cfg.Log.Warn("DNS answer not sent", "to", w.RemoteAddr(), "error", err)
		}
	})

	for _, server := range []*dns.Server{
		{PacketConn: packets, Handler: handler},
		{Listener: streams, Handler: handler},
	} {
		g.run(func() {
			if err := server.ActivateAndServe(); err != nil && ctx.Err() == nil {
				g.cfg.Log.Error("DNS stopped", "error", err)
			}
		})
	}

	return nil
}

func (g *Gateway) answerDNS(ctx context.Context, query *dns.Msg, overTCP bool) *dns.Msg {
	if answer := g.cfg.answerDNS(query); answer != nil {
		return answer
	}

	answer, err := g.cfg.ask(ctx, query, overTCP)
	if err != nil {
		g.cfg.Log.Warn("DNS question not answered", "question", query.Question[0].Name, "error", err)

		return new(dns.Msg).SetRcode(query, dns.RcodeServerFailure)
	}

	return answer
}

// answerDNS answers what the lab itself knows. It returns nil for a question
// that the world's resolvers should get.
func (c *Config) answerDNS(query *dns.Msg) *dns.Msg {
	if query.Opcode != dns.OpcodeQuery {
		return new(dns.Msg).SetRcode(query, dns.RcodeNotImplemented)
	}

	if len(query.Question) != 1 {
		return new(dns.Msg).SetRcode(query, dns.RcodeFormatError)
	}

	question := query.Question[0]
	name := strings.TrimSuffix(dns.CanonicalName(question.Name), ".")
	head := dns.RR_Header{Name: question.Name, Rrtype: question.Qtype, Class: dns.ClassINET, Ttl: dnsTTL}

	if addr, ok := c.lookup(name); ok {
		answer := new(dns.Msg).SetReply(query)
		answer.Authoritative = true

		if question.Qtype == dns.TypeA || question.Qtype == dns.TypeANY {
			head.Rrtype = dns.TypeA
			answer.Answer = []dns.RR{&dns.A{Hdr: head, A: addr.AsSlice()}}
		}

		return answer
	}

	if host, ok := c.reverse(name); ok && question.Qtype == dns.TypePTR {
		answer := new(dns.Msg).SetReply(query)
		answer.Authoritative = true
		answer.Answer = []dns.RR{&dns.PTR{Hdr: head, Ptr: dns.Fqdn(host + "." + c.Domain)}}

		return answer
	}

	if c.Offline || !strings.Contains(name, ".") || c.Domain != "" && dns.IsSubDomain(c.Domain+".", name+".") {
		return new(dns.Msg).SetRcode(query, dns.RcodeNameError)
	}

	return nil
}

func (c *Config) lookup(name string) (netip.Addr, bool) {
	name = strings.TrimSuffix(name, "."+c.Domain)
	if name == PortName {
		return c.Addr, true
	}

	for _, h := range c.Hosts {
		if strings.EqualFold(h.Name, name) {
			return h.Addr, true
		}
	}

	return netip.Addr{}, false
}

func (c *Config) reverse(name string) (string, bool) {
	for _, h := range append([]Host{{Name: PortName, Addr: c.Addr}}, c.Hosts...) {
		if arpa, err := dns.ReverseAddr(h.Addr.String()); err == nil && arpa == name+"." {
			return h.Name, true
		}
	}

	return "", false
}

// ask puts a question to this computer's resolvers, one after the other.
func (c *Config) ask(ctx context.Context, query *dns.Msg, overTCP bool) (*dns.Msg, error) {
	client := dns.Client{Timeout: 3 * time.Second}
	if overTCP {
		client.Net = "tcp"
	}

	errs := []error{errors.New("no resolver answered")}

	for _, resolver := range c.Resolvers {
		answer, _, err := client.ExchangeContext(ctx, query, resolver)
		if err == nil {
			return answer, nil
		}

		errs = append(errs, fmt.Errorf("resolver %s: %w", resolver, err))
	}

	return nil, errors.Join(errs...)
}

// HostResolvers returns the resolvers that this computer uses.
func HostResolvers() []string {
	config, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil // questions are then answered with a failure that says so
	}

	var resolvers []string
	for _, server := range config.Servers {
		resolvers = append(resolvers, net.JoinHostPort(server, config.Port))
	}

	return resolvers
}
