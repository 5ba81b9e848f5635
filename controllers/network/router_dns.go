// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// routerDNSController proposes, in the operators' layer, the name servers and search domains that routers advertise. It listens for
// advertisements, and solicits routers on links that were up earlier.
func routerDNSController(d *Deps, kernel *netlink.Observer) controller.Controller {
	return &routerDNS{kernel: kernel, solicit: d.SolicitRouters, said: map[uint32]*advertised{}, asked: map[uint32]asked{}, declared: declared{
		name: "network.RouterDNSController",
		reads: []controller.Input{
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
			controller.In[network.LinkSpecSpec](controller.Weak, network.NamespaceName),
		},
		writes: []controller.Output{controller.Out[network.ResolverSpecSpec](controller.Shared, network.ConfigNamespaceName)},
	}}
}

type routerDNS struct {
	declared
	kernel  *netlink.Observer
	solicit func(index uint32) error
	asked   map[uint32]asked // by link, since it was up

	mu   sync.Mutex
	said map[uint32]*advertised // by link
}

// asked counts the solicitations on a link.
type asked struct {
	times int
	last  time.Time
}

// advertised is what routers on a link advertised, with the time until which it is valid.
type advertised struct {
	servers map[netip.Addr]time.Time
	search  map[string]time.Time
}

// Solicitations on a link (RFC 4861, 10).
const (
	maxSolicitations     = 3
	solicitationInterval = 4 * time.Second
)

// Run implements controller.Controller.
func (c *routerDNS) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error {
		return c.kernel.WatchRouterOptions(ctx, func(o netlink.RouterOption) {
			c.note(o, time.Now())
			changed()
		})
	}

	return follow(ctx, rt, watch, func(ctx context.Context) (time.Duration, error) { return c.reconcile(ctx, rt, log) })
}

// note records an advertisement.
func (c *routerDNS) note(o netlink.RouterOption, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()

	a, ok := c.said[o.LinkIndex]
	if !ok {
		a = &advertised{map[netip.Addr]time.Time{}, map[string]time.Time{}}
		c.said[o.LinkIndex] = a
	}

	keep(a.servers, o.DNSServers, now.Add(o.Lifetime))
	keep(a.search, o.Search, now.Add(o.Lifetime))
}

// maxAdvertised is how many servers, and domains, are kept for a link; any machine on it can send advertisements.
const maxAdvertised = 64

// keep adds items that are valid until then; of too many, those that end first are removed.
func keep[T comparable](items map[T]time.Time, more []T, until time.Time) {
	for _, item := range more {
		items[item] = until
	}

	if len(items) <= maxAdvertised {
		return
	}

	ended := slices.SortedFunc(maps.Values(items), time.Time.Compare)[len(items)-maxAdvertised-1]

	for item, end := range items {
		if len(items) > maxAdvertised && !end.After(ended) {
			delete(items, item)
		}
	}
}

// expire removes what is not valid any more, and returns when the next item ends.
func (a *advertised) expire(now time.Time) (next time.Time) {
	ended := func(until time.Time) bool {
		if until.After(now) && (next.IsZero() || until.Before(next)) {
			next = until
		}

		return !until.After(now)
	}

	maps.DeleteFunc(a.servers, func(_ netip.Addr, until time.Time) bool { return ended(until) })
	maps.DeleteFunc(a.search, func(_ string, until time.Time) bool { return ended(until) })

	return next
}

// spec returns what is valid now, in an order that does not depend on when it was advertised.
func (a *advertised) spec(link string) network.ResolverSpecSpec {
	spec := network.ResolverSpecSpec{Layer: network.LayerOperator, SearchDomains: slices.Sorted(maps.Keys(a.search))}

	for _, s := range slices.SortedFunc(maps.Keys(a.servers), netip.Addr.Compare) {
		if s.IsLinkLocalUnicast() {
			s = s.WithZone(link)
		}

		spec.DNSServers = append(spec.DNSServers, s)
	}

	return spec
}

func (c *routerDNS) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) (time.Duration, error) {
	links, err := ownLinks(ctx, rt)
	if err != nil {
		return 0, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	now := time.Now()
	there := map[uint32]bool{}

	var again time.Duration

	sooner := func(d time.Duration) {
		if again == 0 || d < again {
			again = max(d, time.Millisecond)
		}
	}

	rt.StartTrackingOutputs()

	for name, l := range links {
		index := l.Index
		there[index] = true

		a, ok := c.said[index]
		if !ok {
			if pause := c.ask(l, now, log); pause > 0 {
				sooner(pause)
			}

			continue
		}

		if next := a.expire(now); !next.IsZero() {
			sooner(next.Sub(now))
		}

		if spec := a.spec(name); len(spec.DNSServers)+len(spec.SearchDomains) > 0 {
			if err := propose(ctx, rt, "ra/"+name+"/", []network.ResolverSpecSpec{spec}); err != nil {
				return 0, err
			}
		}
	}

	maps.DeleteFunc(c.said, func(index uint32, _ *advertised) bool { return !there[index] })
	maps.DeleteFunc(c.asked, func(index uint32, _ asked) bool { return !there[index] })

	return again, rt.CleanupOutputs(ctx, resource.KindOf[network.ResolverSpecSpec](network.ConfigNamespaceName))
}

// ask solicits routers on a link that is up, a few times. It returns when it may do so again; 0 is never.
func (c *routerDNS) ask(l network.LinkStatusSpec, now time.Time, log *slog.Logger) time.Duration {
	if !l.LinkState || l.Flags&nethelpers.LinkUp == 0 {
		delete(c.asked, l.Index)

		return 0
	}

	before := c.asked[l.Index]
	if c.solicit == nil || before.times == maxSolicitations {
		return 0
	}

	if pause := before.last.Add(solicitationInterval).Sub(now); pause > 0 {
		return pause
	}

	c.asked[l.Index] = asked{before.times + 1, now}

	if err := c.solicit(l.Index); err != nil {
		log.Debug("routers not solicited", "link", l.Index, "error", err) // there may be no link-local address yet
	}

	return solicitationInterval
}
