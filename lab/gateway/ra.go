// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// The default times of router advertisements. Hosts send solicitations when they come up, so that the interval only
// matters for changes.
const (
	raInterval  = 10 * time.Second
	raLifetime  = 30 * time.Minute
	raValid     = 24 * time.Hour
	raPreferred = 4 * time.Hour
	// raLifetimeMax is the longest router lifetime (RFC 8319, 4).
	raLifetimeMax = 65535 * time.Second
	// raInfinite is the shortest prefix lifetime that is infinite.
	raInfinite = 0xffffffff * time.Second
	// raSpacing is the shortest time between two advertisements. RFC 4861 has three seconds, too long for a lab that
	// boots.
	raSpacing = 100 * time.Millisecond
	// raOptions is the largest size of DNS servers and search domains with which an advertisement fits the smallest MTU
	// of IPv6.
	raOptions = 1024
	// raHopLimit is the hop limit that hosts must use.
	raHopLimit = 64
)

// RouterAdvertisement describes the network's router to hosts (RFC 4861, 4.2). The zero value announces the gateway as
// default router for half an hour, its subnet for addresses that hosts give themselves (SLAAC), the MTU, and the
// gateway as DNS server.
type RouterAdvertisement struct {
	// Off sends no advertisements.
	Off bool `json:",omitempty"`
	// Interval between advertisements, 10 s by default. Solicitations are answered at once.
	Interval time.Duration `json:",omitempty"`
	// Lifetime as default router, 30 minutes by default. NotDefault announces lifetime 0: this is not a default router.
	Lifetime   time.Duration `json:",omitempty"`
	NotDefault bool          `json:",omitempty"`
	// Managed and Other are the M and O flags: DHCPv6 has addresses, or other configuration only.
	Managed bool `json:",omitempty"`
	Other   bool `json:",omitempty"`
	// NoPrefix leaves out the prefix information. NoOnLink clears its L flag, NoAutonomous its A flag.
	NoPrefix     bool `json:",omitempty"`
	NoOnLink     bool `json:",omitempty"`
	NoAutonomous bool `json:",omitempty"`
	// Valid and Preferred are the prefix's lifetimes, by default 24 h and 4 h. Deprecated announces preferred lifetime
	// 0, Withdrawn both as 0: hosts remove the addresses soon (RFC 4862, 5.5.3).
	Valid      time.Duration `json:",omitempty"`
	Preferred  time.Duration `json:",omitempty"`
	Deprecated bool          `json:",omitempty"`
	Withdrawn  bool          `json:",omitempty"`
	// NoMTU leaves out the MTU; MTU announces another one than the network's.
	NoMTU bool   `json:",omitempty"`
	MTU   uint32 `json:",omitempty"`
	// NoDNS leaves out DNS servers and search domains (RFC 8106); DNS announces other servers than the gateway, Search
	// other domains than Config.Domain.
	NoDNS  bool         `json:",omitempty"`
	DNS    []netip.Addr `json:",omitempty"`
	Search []string     `json:",omitempty"`
	// From is the router to announce, by default the gateway.
	From AnnouncedRouter `json:",omitzero"`
	// Goodbye announces lifetime 0 when the gateway closes or Off is set, so that hosts drop the router at once.
	Goodbye bool `json:",omitempty"`
}

// AnnouncedRouter is a router that a gateway announces.
type AnnouncedRouter struct {
	Addr netip.Addr // link-local
	MAC  string     `json:",omitempty"`
}

// IsZero reports whether the gateway itself is the router.
func (r AnnouncedRouter) IsZero() bool { return r == AnnouncedRouter{} }

// Validate returns an error for what cannot be announced.
func (r RouterAdvertisement) Validate() error {
	if r.Interval < 0 || r.Interval > 0 && r.Interval < raSpacing {
		return fmt.Errorf("router advertisement: interval %v is shorter than %v", r.Interval, raSpacing)
	}

	if r.Lifetime < 0 || r.Lifetime > raLifetimeMax {
		return fmt.Errorf("router advertisement: lifetime %v is out of range (0 to %v)", r.Lifetime, raLifetimeMax)
	}

	if r.Valid < 0 || r.Preferred < 0 || r.preferred() > r.valid() {
		return fmt.Errorf("router advertisement: preferred lifetime %v is longer than the valid lifetime %v", r.preferred(), r.valid())
	}

	if r.MTU != 0 && r.MTU < minMTU6 {
		return fmt.Errorf("router advertisement: MTU %d is less than IPv6's %d", r.MTU, minMTU6)
	}

	for _, addr := range r.DNS {
		if !addr.Is6() {
			return fmt.Errorf("router advertisement: DNS server %v is not an IPv6 address", addr)
		}
	}

	for _, name := range r.Search {
		if _, ok := dns.IsDomainName(name); !ok {
			return fmt.Errorf("router advertisement: search domain %q is not a domain name", name)
		}
	}

	if size := 16*len(r.DNS) + len(domainNames(r.Search)); size > raOptions {
		return fmt.Errorf("router advertisement: DNS servers and search domains of %d bytes, want at most %d", size, raOptions)
	}

	if !r.From.IsZero() {
		if !r.From.Addr.Is6() || !r.From.Addr.IsLinkLocalUnicast() {
			return fmt.Errorf("router advertisement: router %v is not a link-local address", r.From.Addr)
		}

		if mac, err := net.ParseMAC(r.From.MAC); err != nil || len(mac) != 6 {
			return fmt.Errorf("router advertisement: hardware address %q of router %v is not an Ethernet address", r.From.MAC, r.From.Addr)
		}
	}

	return nil
}

func (r RouterAdvertisement) interval() time.Duration { return cmp.Or(r.Interval, raInterval) }

func (r RouterAdvertisement) lifetime() time.Duration {
	if r.NotDefault {
		return 0
	}

	return cmp.Or(r.Lifetime, raLifetime)
}

func (r RouterAdvertisement) valid() time.Duration {
	if r.Withdrawn {
		return 0
	}

	return cmp.Or(r.Valid, raValid)
}

func (r RouterAdvertisement) preferred() time.Duration {
	if r.Withdrawn || r.Deprecated {
		return 0
	}

	if r.Preferred == 0 {
		return min(raPreferred, r.valid())
	}

	return r.Preferred
}

// SetRA changes the advertisements, and sends one.
func (g *Gateway) SetRA(r RouterAdvertisement) error {
	if err := change(&g.ra, r); err != nil {
		return err
	}

	select {
	case g.solicited <- struct{}{}:
	default: // an advertisement is due already
	}

	return nil
}

// wait waits for a time or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// discardSolicitations discards solicitations.
func (g *Gateway) discardSolicitations() {
	select {
	case <-g.solicited:
	default:
	}
}

func (g *Gateway) serveRA(ctx context.Context) error {
	g.run(func() {
		heard := RouterAdvertisement{Off: true} // the latest advertisement

		for {
			ra := g.ra.get().value

			switch {
			case !ra.Off:
				g.port.Send(g.cfg.advertisement(ra))
			case heard.Goodbye && !heard.Off:
				g.port.Send(g.cfg.goodbye(heard))
			}

			heard = ra

			select {
			case <-time.After(ra.interval()):
			case <-g.solicited:
				wait(ctx, raSpacing)
				g.discardSolicitations() // one advertisement answers all solicitations
			case <-ctx.Done():
				if heard.Goodbye && !heard.Off {
					g.port.Send(g.cfg.goodbye(heard))
				}

				return
			}
		}
	})

	return nil
}
