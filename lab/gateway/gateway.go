// SPDX-License-Identifier: Apache-2.0

// Package gateway is the lab's router, and all the services that a machine
// finds on its network: DHCP with a fixed lease for each machine, DNS for the
// lab's names, NTP with this computer's time, and the way in: ports of loopback
// forwarded to the machines.
//
// It is a TCP/IP stack of its own (gVisor's) on a port of the lab's switch. The
// lab's subnet exists nowhere else, and never on this computer.
//
// An offline gateway has no code path by which a packet could leave the lab: it
// answers traffic for the world with "network unreachable", so that what dials
// out fails at once instead of waiting. Otherwise connections are made anew
// from this computer's own sockets (gvisor-tap-vsock's forwarders), and names
// that are not the lab's are asked of this computer's resolvers.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/lab/netswitch"

	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// PortName is the gateway's name on the switch, for faults on its link.
const PortName = "gateway"

// mac is the gateway's hardware address. Machines have theirs in the same
// locally administered range.
var mac = net.HardwareAddr{0x52, 0x54, 0x00, 0x00, 0x00, 0x01}

// Host is a machine of the lab.
type Host struct {
	Name string
	MAC  net.HardwareAddr
	Addr netip.Addr
}

// Config describes a gateway.
type Config struct {
	// Subnet is the lab's network; Addr is the gateway's address in it.
	Subnet netip.Prefix
	Addr   netip.Addr
	// MTU of the network, 1500 if zero.
	MTU uint16
	// Domain is the lab's own zone: hosts resolve as NAME and NAME.DOMAIN.
	Domain string
	Hosts  []Host
	// LeaseTime of DHCP, one hour if zero. Clients renew after half of it.
	LeaseTime time.Duration
	// Offline leaves no way out.
	Offline bool
	// Resolvers are asked for names that are not the lab's, as "address:port",
	// unless Offline.
	Resolvers []string
	Log       *slog.Logger
}

func (c *Config) setDefaults() error {
	if c.MTU == 0 {
		c.MTU = 1500
	}

	if c.LeaseTime == 0 {
		c.LeaseTime = time.Hour
	}

	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}

	if !c.Subnet.Addr().Is4() || !c.Subnet.Contains(c.Addr) {
		return fmt.Errorf("gateway address %v is not in the IPv4 subnet %v", c.Addr, c.Subnet)
	}

	for _, h := range c.Hosts {
		if !c.Subnet.Contains(h.Addr) || h.Addr == c.Addr {
			return fmt.Errorf("address %v of machine %s is not free in subnet %v", h.Addr, h.Name, c.Subnet)
		}
	}

	return nil
}

// Gateway is a running gateway.
type Gateway struct {
	cfg   Config
	stack *stack.Stack

	done  context.Context // ends with Close
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// New plugs a gateway into a switch and starts its services.
func New(sw *netswitch.Switch, cfg Config) (*Gateway, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}

	s, err := newStack(cfg.MTU, mac, netip.PrefixFrom(cfg.Addr, cfg.Subnet.Bits()))
	if err != nil {
		return nil, fmt.Errorf("start the gateway's network stack: %w", err)
	}

	ctx, stop := context.WithCancel(context.Background())
	g := &Gateway{cfg: cfg, stack: s.Stack, done: ctx, stop: stop}

	g.run(func() { s.connect(ctx, sw, PortName) })

	if cfg.Offline {
		err = refuseOutbound(s.Stack)
	} else {
		err = openOutbound(s.Stack, cfg.Subnet)
	}

	if err = errors.Join(err, g.serveDHCP(ctx), g.serveDNS(ctx), g.serveNTP(ctx)); err != nil {
		g.Close()

		return nil, err
	}

	return g, nil
}

// run starts a task that Close waits for.
func (g *Gateway) run(task func()) { g.tasks.Go(task) }

// Close unplugs the gateway and ends its services and forwarded connections.
func (g *Gateway) Close() {
	g.stop()
	g.stack.Close()
	g.tasks.Wait()
}
