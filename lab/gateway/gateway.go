// SPDX-License-Identifier: Apache-2.0

// Package gateway is the router of one of the lab's networks, with its services: DHCP and DHCPv6 with a fixed lease for
// each machine, router advertisements, DNS for the lab's names, NTP with this computer's time, a cloud's metadata
// server, and ports of loopback that are forwarded to the machines.
//
// It is a TCP/IP stack of its own (gVisor's) on a port of the lab's switch. A network has IPv4, IPv6 or both
// (Config.Subnet4, Config.Subnet6), and exists only inside the lab. Each network of a lab has its own Gateway; gateways
// on one switch need different port names.
//
// Services can misbehave, from the start (Config) and while they run (SetDHCP, SetDHCPv6, SetRA, SetDNS, SetNTP,
// SetMetadata). The zero value of each behaviour is a healthy service. A second DHCP server on a network is one more
// Gateway, with only ServiceDHCP, and with a port name, hardware address and IP address of its own.
//
// An offline gateway has no code path on which a packet could leave the lab: it answers traffic for the world with
// "network unreachable", so that a client fails at once instead of waiting. Any other gateway connects to the world
// from this computer's own sockets (gvisor-tap-vsock's forwarders), and sends queries for names that are not the lab's
// to this computer's resolvers. It never connects to the lab's networks, link-local addresses or the addresses of
// clouds' metadata servers from this computer.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/netswitch"

	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Gateway is a running gateway.
type Gateway struct {
	cfg   Config
	stack *stack.Stack
	port  *netswitch.Port

	dhcp     setting[DHCPBehaviour]
	dhcpv6   setting[DHCPv6Behaviour]
	ra       setting[RouterAdvertisement]
	dns      setting[DNSBehaviour]
	ntp      setting[NTPBehaviour]
	metadata setting[MetadataBehaviour]

	instances setting[*metadata.Server] // nil without a metadata service

	solicited chan struct{} // wakes the router advertiser

	delayed atomic.Int64 // requests that wait in pause

	done  context.Context // ends with Close
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// New plugs a gateway into a switch and starts its services.
func New(sw *netswitch.Switch, cfg Config) (*Gateway, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}

	s, err := newStack(cfg.MTU, cfg.MAC, ipv6.NDPConfigurations{}, append(cfg.prefixes(), cfg.metadataPrefixes()...)...)
	if err != nil {
		return nil, fmt.Errorf("start the gateway's network stack: %w", err)
	}

	s.route(cfg.routes())

	ctx, stop := context.WithCancel(context.Background())
	g := &Gateway{cfg: cfg, stack: s.Stack, solicited: make(chan struct{}, 1), done: ctx, stop: stop}
	s.solicited = g.solicited

	g.dhcp.set(cfg.DHCP)
	g.dhcpv6.set(cfg.DHCPv6)
	g.ra.set(cfg.RA)
	g.dns.set(cfg.DNS)
	g.ntp.set(cfg.NTP)
	g.metadata.set(cfg.Metadata)

	g.port = s.attach(sw, cfg.PortName)
	g.run(func() { s.send(ctx, g.port) })

	if cfg.Offline {
		err = refuseOutbound(s.Stack)
	} else {
		err = openOutbound(s.Stack, cfg.inside())
	}

	if err = errors.Join(err, g.serve(ctx)); err != nil {
		g.Close()

		return nil, err
	}

	return g, nil
}

// serve starts the configured services.
func (g *Gateway) serve(ctx context.Context) error {
	starts := map[Service]func(context.Context) error{
		ServiceDHCP: g.serveDHCP, ServiceDHCPv6: g.serveDHCPv6, ServiceRA: g.serveRA,
		ServiceDNS: g.serveDNS, ServiceNTP: g.serveNTP, ServiceMetadata: g.serveMetadata,
	}

	var errs []error

	for _, service := range g.cfg.Services {
		errs = append(errs, starts[service](ctx))
	}

	return errors.Join(errs...)
}

// run starts a task that Close waits for.
func (g *Gateway) run(task func()) { g.tasks.Go(task) }

// serveUntilClosed runs a server until ctx ends, which closes what it serves.
func (g *Gateway) serveUntilClosed(ctx context.Context, name string, serve func() error, closed ...io.Closer) {
	context.AfterFunc(ctx, func() { _ = closeAll(closed) })
	g.run(func() {
		if err := serve(); err != nil && ctx.Err() == nil {
			g.cfg.Log.Error(name+" stopped", "error", err)
		}
	})
}

// delayedLimit bounds the requests that wait for the delays of services.
const delayedLimit = 1024

// pause waits for a service's configured delay. It returns false when the gateway closes during the delay, and at once
// when too many requests wait: a machine that floods a slow service gets no answers.
func (g *Gateway) pause(d time.Duration) bool {
	if d <= 0 {
		return g.done.Err() == nil
	}

	defer g.delayed.Add(-1)

	if g.delayed.Add(1) > delayedLimit {
		return false
	}

	select {
	case <-time.After(d):
		return true
	case <-g.done.Done():
		return false
	}
}

// Close unplugs the gateway and ends its services and forwarded connections.
func (g *Gateway) Close() {
	g.stop()
	g.stack.Close()
	g.tasks.Wait()
	g.port.Close()
}
