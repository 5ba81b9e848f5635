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
)

const (
	dnsPort = 53
	dnsTTL  = 60 // seconds
)

func (g *Gateway) serveDNS(ctx context.Context) error {
	packets, err := g.listenPackets(dnsPort)
	if err != nil {
		return fmt.Errorf("start DNS: %w", err)
	}

	streams, err := g.listenStreams(dnsPort, g.cfg.own()...)
	if err != nil {
		return fmt.Errorf("start DNS: %w", errors.Join(err, closeAll(packets)))
	}

	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) { g.handleDNS(ctx, w, query) })

	// Closing the sockets ends the servers; their own Shutdown needs them to have started.
	for _, conn := range packets {
		g.serveUntilClosed(ctx, "DNS", (&dns.Server{PacketConn: conn, Handler: handler}).ActivateAndServe, conn)
	}

	for _, l := range streams {
		g.serveUntilClosed(ctx, "DNS", (&dns.Server{Listener: l, Handler: handler}).ActivateAndServe, l)
	}

	return nil
}

func (g *Gateway) handleDNS(ctx context.Context, w dns.ResponseWriter, query *dns.Msg) {
	behaviour := g.dns.get().value
	if behaviour.Silent || !g.pause(behaviour.Delay) {
		return
	}

	_, overTCP := w.RemoteAddr().(*net.TCPAddr)

	answer := behaviour.answer(query, overTCP)
	if answer == nil {
		answer = g.answerDNS(ctx, query, overTCP)
	}

	if err := w.WriteMsg(answer); err != nil {
		g.cfg.Log.Warn("DNS answer not sent", "to", w.RemoteAddr(), "error", err)
	}
}

// answer returns the answer of a server that misbehaves, or nil.
func (b DNSBehaviour) answer(query *dns.Msg, overTCP bool) *dns.Msg {
	switch {
	case b.Rcode != "":
		return new(dns.Msg).SetRcode(query, dns.StringToRcode[b.Rcode])
	case b.Truncate && !overTCP:
		answer := new(dns.Msg).SetReply(query)
		answer.Truncated = true

		return answer
	}

	return nil
}

func (g *Gateway) answerDNS(ctx context.Context, query *dns.Msg, overTCP bool) *dns.Msg {
	if answer := g.cfg.answerDNS(query); answer != nil {
		return answer
	}

	answer, err := g.cfg.ask(ctx, query, overTCP)
	if err != nil {
		g.cfg.Log.Warn("DNS query not answered", "question", query.Question[0].Name, "error", err)

		return new(dns.Msg).SetRcode(query, dns.RcodeServerFailure)
	}

	return answer
}

// answerDNS answers queries about the lab. It returns nil for a query that goes to this computer's resolvers.
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

	if addrs, ok := c.lookup(name); ok {
		answer := new(dns.Msg).SetReply(query)
		answer.Authoritative = true

		for _, addr := range addrs {
			kind := dns.TypeAAAA
			if addr.Is4() {
				kind = dns.TypeA
			}

			if question.Qtype == kind || question.Qtype == dns.TypeANY {
				answer.Answer = append(answer.Answer, addressRecord(question.Name, addr))
			}
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

// addressRecord is an A or AAAA record.
func addressRecord(name string, addr netip.Addr) dns.RR {
	head := dns.RR_Header{Name: name, Rrtype: dns.TypeAAAA, Class: dns.ClassINET, Ttl: dnsTTL}
	if addr.Is4() {
		head.Rrtype = dns.TypeA

		return &dns.A{Hdr: head, A: addr.AsSlice()}
	}

	return &dns.AAAA{Hdr: head, AAAA: addr.AsSlice()}
}

// lookup returns the addresses of a name of the lab.
func (c *Config) lookup(name string) (addrs []netip.Addr, ok bool) {
	if name == c.Domain {
		return nil, true // the zone exists: otherwise no name below it would (RFC 8020)
	}

	name = strings.TrimSuffix(name, "."+c.Domain)

	for _, known := range c.names() {
		if strings.EqualFold(known.name, name) {
			addrs, ok = append(addrs, known.addrs...), true
		}
	}

	return addrs, ok
}

// reverse returns the host of a name below in-addr.arpa or ip6.arpa.
func (c *Config) reverse(name string) (string, bool) {
	for _, known := range c.names() {
		for _, addr := range known.addrs {
			if arpa, err := dns.ReverseAddr(addr.String()); err == nil && arpa == name+"." {
				return known.name, true
			}
		}
	}

	return "", false
}

type namedAddrs struct {
	name  string
	addrs []netip.Addr
}

// publicTimeServers are the names by which machines ask for the time when their platform names no server. A gateway without a connection to the
// world answers to them: its machines would have no time otherwise, unless they take it from DHCP.
var publicTimeServers = []string{"time.cloudflare.com", "pool.ntp.org"}

// names returns the network's names and their addresses.
func (c *Config) names() []namedAddrs {
	names := append([]namedAddrs{{PortName, c.own()}}, c.metadataNames()...)
	if c.PortName != PortName {
		names = append(names, namedAddrs{c.PortName, c.own()})
	}

	if c.Offline {
		for _, name := range publicTimeServers {
			names = append(names, namedAddrs{name, c.own()})
		}
	}

	for i := range c.Hosts {
		h := &c.Hosts[i]
		names = append(names, namedAddrs{h.Name, append(c.addrs4(h), c.addrs6(h)...)})
	}

	for name, addrs := range c.Names {
		names = append(names, namedAddrs{name, addrs})
	}

	return names
}

// ask sends a query to this computer's resolvers, one after the other.
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
		return nil // queries are then answered with SERVFAIL
	}

	var resolvers []string
	for _, server := range config.Servers {
		resolvers = append(resolvers, net.JoinHostPort(server, config.Port))
	}

	return resolvers
}
