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
	"time"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
)

const (
	// metadataPort is that of every cloud.
	metadataPort = 80
	// metadataPatience is how long a connection without a request is kept.
	metadataPatience = time.Minute
)

// linkLocal4 has the first addresses of hosts, and the metadata servers of most clouds.
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

	// A machine whose power is cut does not close its connections.
	httpServer := &http.Server{
		Handler: http.HandlerFunc(g.handleMetadata), ReadHeaderTimeout: metadataPatience, IdleTimeout: metadataPatience,
	}

	for _, l := range listeners {
		g.serveUntilClosed(ctx, "metadata server", func() error { return httpServer.Serve(l) }, httpServer, l)
	}

	return nil
}

func (g *Gateway) handleMetadata(w http.ResponseWriter, r *http.Request) {
	behaviour := g.metadata.get().value

	switch {
	case behaviour.Silent:
		<-r.Context().Done()
	case !g.pause(behaviour.Delay):
		panic(http.ErrAbortHandler) // resets the connection, which sends no answer
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
			g.cfg.Log.Warn("metadata request not answered", "client", from, "path", r.URL.Path, "error", "no host has this address")
			http.Error(w, "no instance has this address", http.StatusNotFound)

			return
		}

		g.cfg.Log.Info("metadata", "client", host.Name, "method", r.Method, "path", r.URL.RequestURI())
		g.instances.get().value.Serve(w, r, host.Name)
	}
}

// neighbor returns the hardware address of an address on the link, or nil. Hosts without a lease send requests from
// addresses of their own choice.
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

// SetInstance changes the data of a host on the metadata server.
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
