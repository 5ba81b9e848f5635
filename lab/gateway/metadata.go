// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
)

// metadataPort is where every cloud serves.
const metadataPort = 80

// linkLocal4 is where hosts have addresses before any other, and most clouds
// their metadata servers.
var linkLocal4 = netip.MustParsePrefix("169.254.0.0/16")

func (g *Gateway) serveMetadata(ctx context.Context) error {
	server, err := metadata.New(g.cfg.allInstances())
	if err != nil {
		return fmt.Errorf("start the metadata server: %w", err)
	}

	g.instances.set(server)

	listeners, err := g.listenStreams(metadataPort, g.cfg.metadataAddrs()...)
	if err != nil {
		return fmt.Errorf("start the metadata server: %w", err)
	}

	httpServer := &http.Server{Handler: http.HandlerFunc(g.handleMetadata)}
	context.AfterFunc(ctx, func() { _ = httpServer.Close(); _ = closeAll(listeners) })

	for _, l := range listeners {
		g.run(func() {
			if err := httpServer.Serve(l); ctx.Err() == nil {
				g.cfg.Log.Error("metadata server stopped", "error", err)
			}
		})
	}

	return nil
}

func (g *Gateway) handleMetadata(w http.ResponseWriter, r *http.Request) {
	behaviour := g.metadata.get().value

	switch {
	case behaviour.Silent:
		<-r.Context().Done()
	case !g.pause(behaviour.Delay):
	case behaviour.Status != 0:
		http.Error(w, http.StatusText(behaviour.Status), behaviour.Status)
	default:
		client, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)

			return
		}

		from := client.Addr().Unmap()

		host := g.cfg.hostByAddr(from)
		if host == nil {
			host = g.cfg.hostByMAC(g.neighbor(from))
		}

		if host == nil {
			g.cfg.Log.Warn("metadata not told", "client", from, "path", r.URL.Path, "error", "no host has this address")
			http.Error(w, "no instance has this address", http.StatusNotFound)

			return
		}

		g.cfg.Log.Info("metadata", "client", host.Name, "method", r.Method, "path", r.URL.Path)
		g.instances.get().value.Serve(w, r, host.Name)
	}
}

// neighbor returns the hardware address that an address on the link belongs to,
// or nil. Hosts that have no lease yet ask with addresses of their own choice.
func (g *Gateway) neighbor(addr netip.Addr) net.HardwareAddr {
	entries, err := g.stack.Neighbors(nic, protocolOf(addr))
	if err != nil {
		return nil
	}

	for _, entry := range entries {
		if at, ok := netip.AddrFromSlice(entry.Addr.AsSlice()); ok && at == addr {
			return net.HardwareAddr(entry.LinkAddr)
		}
	}

	return nil
}

func (c *Config) hostByAddr(addr netip.Addr) *Host {
	for i := range c.Hosts {
		h := &c.Hosts[i]
		if h.Addr4 == addr || h.Addr6 == addr || slices.Contains(c.addrs6(h), addr) {
			return h
		}
	}

	return nil
}

// SetInstance changes what the metadata server tells of a host from now on.
func (g *Gateway) SetInstance(host string, instance metadata.Instance) error {
	current := g.instances.get()
	if current == nil {
		return errors.New("set metadata: the gateway has no metadata server")
	}

	for i := range g.cfg.Hosts {
		if h := &g.cfg.Hosts[i]; h.Name == host {
			return current.value.Set(g.cfg.instance(h, instance))
		}
	}

	return fmt.Errorf("set metadata: no host %q", host)
}

// allInstances returns the instances of the hosts that are on a cloud.
func (c *Config) allInstances() []metadata.Instance {
	var instances []metadata.Instance

	for i := range c.Hosts {
		if in := c.instance(&c.Hosts[i], c.Hosts[i].Instance); in.Platform != "" {
			instances = append(instances, in)
		}
	}

	return instances
}

// instance fills in what a host's instance leaves to the network.
func (c *Config) instance(h *Host, in metadata.Instance) metadata.Instance {
	if in.Platform == "" {
		in.Platform = c.Cloud
	}

	in.Name = h.Name

	if in.Domain == "" {
		in.Domain = c.Domain
	}

	if in.DNS == nil && c.has(ServiceDNS) {
		for _, own := range c.prefixes() {
			in.DNS = append(in.DNS, own.Addr())
		}
	}

	if in.Cards != nil {
		return in
	}

	card := metadata.Card{MAC: h.MAC, MTU: int(c.MTU)}

	if c.Subnet4.IsValid() {
		router := c.Addr4
		if c.Router4.IsValid() {
			router = c.Router4
		}

		card.Addrs = append(card.Addrs, netip.PrefixFrom(h.Addr4, c.Subnet4.Bits()))
		card.Routers = append(card.Routers, router)
	}

	if c.Subnet6.IsValid() {
		router := c.Addr6
		if c.Router6.IsValid() {
			router = c.Router6
		}

		card.Addrs = append(card.Addrs, netip.PrefixFrom(h.Addr6, c.Subnet6.Bits()))
		card.Routers = append(card.Routers, router)
	}

	in.Cards = []metadata.Card{card}

	return in
}

// clouds returns the platforms that the network's metadata server plays.
func (c *Config) clouds() []string {
	var clouds []string
	if !c.has(ServiceMetadata) {
		return nil
	}

	for _, in := range c.allInstances() {
		if !slices.Contains(clouds, in.Platform) {
			clouds = append(clouds, in.Platform)
		}
	}

	return clouds
}

// metadataAddrs returns where the metadata server listens: where its clouds do,
// on the gateway's own addresses too, which some clouds have instead.
func (c *Config) metadataAddrs() []netip.Addr {
	addrs := c.fixedMetadataAddrs()
	for _, own := range c.prefixes() {
		addrs = append(addrs, own.Addr())
	}

	return addrs
}

// metadataPrefixes are the metadata server's own addresses for the stack.
func (c *Config) metadataPrefixes() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, addr := range c.fixedMetadataAddrs() {
		prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
	}

	return prefixes
}

// metadataNames returns what DNS has for the network's clouds.
func (c *Config) metadataNames() []namedAddrs {
	var names []namedAddrs

	for _, cloud := range c.clouds() {
		addrs := slices.DeleteFunc(slices.Clone(metadata.Addresses(cloud)), func(addr netip.Addr) bool {
			return !slices.Contains(c.fixedMetadataAddrs(), addr)
		})
		if len(addrs) == 0 {
			for _, own := range c.prefixes() {
				addrs = append(addrs, own.Addr())
			}
		}

		for _, name := range metadata.Names(cloud) {
			names = append(names, namedAddrs{name, addrs})
		}
	}

	return names
}

func (c *Config) fixedMetadataAddrs() []netip.Addr {
	var addrs []netip.Addr

	for _, cloud := range c.clouds() {
		for _, addr := range metadata.Addresses(cloud) {
			family := addr.Is4() && c.Subnet4.IsValid() || addr.Is6() && c.Subnet6.IsValid()
			if family && !slices.Contains(addrs, addr) {
				addrs = append(addrs, addr)
			}
		}
	}

	return addrs
}
