// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/controllers/network/hostdns"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/outbound"
)

// ListenDNS opens the sockets of a DNS server on an address.
type ListenDNS func(ctx context.Context, at netip.AddrPort) (net.PacketConn, net.Listener, error)

// dnsResolveCacheController runs the machine's own DNS server, and publishes the status of each listener. It does not use a generic: the
// listeners go on while a reconcile fails.
func dnsResolveCacheController(d *Deps) controller.Controller {
	client := &hostdns.Client{
		Earliest: d.Built, Roots: func() (*x509.CertPool, error) { return outbound.Roots(layout.CABundle) },
	}

	return &dnsResolveCache{
		listen: d.ListenDNS, client: client, resolver: &hostdns.Resolver{Exchange: client.Exchange},
		running: map[netip.AddrPort]*dnsListener{}, failed: make(chan struct{}, 1),
		declared: declared{
			name: "network.DNSResolveCacheController",
			reads: []controller.Input{
				controller.In[network.HostDNSConfigSpec](controller.Weak, "", network.HostDNSConfigID),
				controller.In[network.DNSUpstreamSpec](controller.Weak, ""),
				controller.In[network.StaticHostSpec](controller.Weak, ""),
				controller.In[cluster.MemberSpec](controller.Weak, ""),
				controller.In[network.AddressStatusSpec](controller.Weak, ""), // a listener waits for its address
			},
			writes: []controller.Output{controller.Out[network.DNSResolveCacheSpec](controller.Exclusive)},
		},
	}
}

type dnsResolveCache struct {
	declared
	listen   ListenDNS
	client   *hostdns.Client
	resolver *hostdns.Resolver
	running  map[netip.AddrPort]*dnsListener
	failed   chan struct{}
}

// dnsListener is a listener that runs, or why it does not.
type dnsListener struct {
	cancel context.CancelFunc
	ended  <-chan error // nil if it does not run
	err    error
	// opened is when the sockets were opened last; zero if they could not be.
	opened time.Time
}

// listenAgain is the pause before a listener that failed is opened again.
const listenAgain = 5 * time.Second

// Run implements controller.Controller.
func (c *dnsResolveCache) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer func() {
		if ctx.Err() != nil {
			for at := range c.running {
				c.stop(at)
			}

			c.client.Close()
		}
	}()

	watch := func(ctx context.Context, changed func()) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-c.failed:
				changed()
			}
		}
	}

	serving := ctx

	return follow(ctx, rt, watch, func(ctx context.Context) (time.Duration, error) { return c.reconcile(ctx, serving, rt, log) })
}

func (c *dnsResolveCache) reconcile(ctx, serving context.Context, rt controller.Runtime, log *slog.Logger) (time.Duration, error) {
	var settings network.HostDNSConfigSpec

	if f := typed.Read(ctx, rt, network.HostDNSConfigID, &settings); f.Err != nil {
		return 0, f.Err
	}

	names, err1 := knownNames(ctx, rt, settings)
	upstreams, err2 := upstreamsInOrder(ctx, rt)
	addresses, err3 := typed.List[network.AddressStatusSpec](ctx, rt, "")

	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, err
	}

	c.resolver.Set(names, upstreams)

	has := func(at netip.AddrPort) bool {
		return slices.ContainsFunc(addresses, func(a *resource.Typed[network.AddressStatusSpec]) bool {
			own := a.TypedSpec().Address

			return own.Addr() == at.Addr() || own.Addr().IsLoopback() && own.Contains(at.Addr())
		})
	}

	again := c.apply(serving, settings.ListenAddresses, has, log)

	rt.StartTrackingOutputs()

	for at, l := range c.running {
		spec := network.DNSResolveCacheSpec{Status: network.DNSRunning}
		if l.err != nil {
			spec.Status = l.err.Error()
		}

		for _, protocol := range []string{"udp", "tcp"} {
			if err := set(ctx, rt, "", network.DNSResolveCacheID(protocol, at), spec); err != nil {
				return 0, err
			}
		}
	}

	return again, rt.CleanupOutputs(ctx, resource.KindOf[network.DNSResolveCacheSpec](""))
}

// apply starts and stops listeners, and returns when one that failed is to be opened again; 0 is never.
func (c *dnsResolveCache) apply(ctx context.Context, wanted []netip.AddrPort, has func(netip.AddrPort) bool, log *slog.Logger) (again time.Duration) {
	for _, at := range slices.Collect(maps.Keys(c.running)) {
		if !slices.Contains(wanted, at) {
			c.stop(at)
		}
	}

	for _, at := range wanted {
		l, ok := c.running[at]
		if ok && l.ended != nil {
			select {
			case err := <-l.ended:
				l.cancel()
				l.ended, l.err = nil, errors.Join(errors.New("the listener failed"), err)
				log.Error("the DNS server failed", "address", at, "error", err)
			default:
			}
		}

		switch {
		case l != nil && l.ended != nil:
		case !has(at):
			l = &dnsListener{cancel: func() {}, err: errors.New("the machine does not have the address yet")}
			c.running[at] = l

			continue // its status wakes the controller
		case l == nil || time.Since(l.opened) >= listenAgain:
			l = c.start(ctx, at, log)
		}

		if l.ended == nil {
			again = listenAgain
		}
	}

	return again
}

func (c *dnsResolveCache) start(ctx context.Context, at netip.AddrPort, log *slog.Logger) *dnsListener {
	l := &dnsListener{cancel: func() {}}
	c.running[at] = l

	packets, listener, err := c.listen(ctx, at)
	if err != nil {
		l.err = err

		return l
	}

	l.opened = time.Now()
	ctx, l.cancel = context.WithCancel(ctx)

	server := hostdns.NewServer(c.resolver, log)

	l.ended = guard.GoThen(func() error { return server.Serve(ctx, packets, listener) }, func() {
		select {
		case c.failed <- struct{}{}:
		default:
		}
	})

	return l
}

func (c *dnsResolveCache) stop(at netip.AddrPort) {
	l := c.running[at]
	delete(c.running, at)

	l.cancel()

	if l.ended != nil {
		<-l.ended
	}
}

func upstreamsInOrder(ctx context.Context, rt controller.Runtime) ([]hostdns.Upstream, error) {
	specs, err := typed.List[network.DNSUpstreamSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	specs = slices.DeleteFunc(specs, func(s *resource.Typed[network.DNSUpstreamSpec]) bool {
		return s.Metadata().Phase() != resource.PhaseRunning
	})
	slices.SortFunc(specs, func(a, b *resource.Typed[network.DNSUpstreamSpec]) int {
		return a.TypedSpec().Order - b.TypedSpec().Order
	})

	out := make([]hostdns.Upstream, 0, len(specs))
	for _, s := range specs {
		u := s.TypedSpec()
		out = append(out, hostdns.Upstream{Addr: u.Address, Protocol: hostdns.Protocol(u.Protocol), ServerName: u.TLSServerName})
	}

	return out, nil
}

// knownNames returns the names that need no other server: the machine's own, those of the configuration, and the members of the cluster.
func knownNames(ctx context.Context, rt controller.Runtime, settings network.HostDNSConfigSpec) (hostdns.Names, error) {
	names := hostdns.Names{}

	hosts, err1 := typed.List[network.StaticHostSpec](ctx, rt, "")
	members, err2 := typed.List[cluster.MemberSpec](ctx, rt, "")

	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}

	for _, h := range hosts {
		if h.Metadata().Phase() == resource.PhaseRunning {
			names.Add(h.Metadata().ID(), h.TypedSpec().Addresses...)
		}
	}

	if settings.ResolveMemberNames {
		for _, m := range members {
			if m.Metadata().Phase() == resource.PhaseRunning {
				addMember(names, m.Metadata().ID(), *m.TypedSpec())
			}
		}
	}

	return names, nil
}
