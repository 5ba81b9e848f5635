// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
)

// EtcFileController renders the contents of /etc/hosts, /etc/hostname and /etc/resolv.conf, and of the resolv.conf for pods.
func EtcFileController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.EtcFileController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[network.ResolverStatusSpec](controller.Weak, "", network.ResolverID),
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressDefaultID),
			controller.In[network.HostDNSConfigSpec](controller.Weak, "", network.HostDNSConfigID),
			controller.In[network.DNSResolveCacheSpec](controller.Weak, ""),
		},
		Writes:    []controller.Output{controller.Out[files.EtcFileSpecSpec](controller.Shared)},
		Cleanup:   []resource.Kind{resource.KindOf[files.EtcFileSpecSpec]("")},
		Reconcile: reconcileEtcFiles,
	}
}

func reconcileEtcFiles(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	cfg, err := fromconfig.View(ctx, rt)
	if err != nil {
		return err
	}

	var (
		resolvers network.ResolverStatusSpec
		hostname  network.HostnameStatusSpec
		addresses network.NodeAddressSpec
		address   netip.Addr
	)

	write := func(id, contents string) error {
		return set(ctx, rt, "", id, files.EtcFileSpecSpec{Contents: contents, Mode: fs.FileMode(0o644)})
	}

	if f := typed.Read(ctx, rt, network.ResolverID, &resolvers); f.Err != nil {
		return f.Err
	} else if f.OK {
		dns, err := readHostDNS(ctx, rt)
		if err != nil {
			return err
		}

		machine, pods := dns.servers(resolvers)

		if err := errors.Join(
			write(files.ResolvConf, renderResolvConf(machine, resolvers.SearchDomains)), write(files.PodResolvConf, renderResolvConf(pods, resolvers.SearchDomains)),
		); err != nil {
			return err
		}
	}

	if f := typed.Read(ctx, rt, network.HostnameID, &hostname); f.Err != nil || !f.OK {
		return f.Err
	}

	if err := write(files.Hostname, hostname.Hostname+"\n"); err != nil {
		return err
	}

	if f := typed.Read(ctx, rt, network.NodeAddressDefaultID, &addresses); f.Err != nil {
		return f.Err
	}

	if len(addresses.Addresses) > 0 {
		address = addresses.Addresses[0].Addr()
	}

	return write(files.Hosts, renderHosts(hostname, address, cfg.ExtraHosts()))
}

// renderHosts returns /etc/hosts. It has the machine's own name even before the machine has an address.
func renderHosts(hostname network.HostnameStatusSpec, address netip.Addr, extra []view.ExtraHost) string {
	if !address.IsValid() {
		address = netip.MustParseAddr("127.0.1.1")
	}

	names := hostname.DNSNames()
	slices.Reverse(names) // the canonical name comes first

	var b strings.Builder

	line := func(address netip.Addr, names ...string) {
		fmt.Fprintf(&b, "%-15s %s\n", address, strings.Join(names, " "))
	}

	line(netip.MustParseAddr("127.0.0.1"), "localhost")
	line(address, names...)
	line(netip.IPv6Loopback(), "localhost", "ip6-localhost", "ip6-loopback")
	line(netip.IPv6LinkLocalAllNodes(), "ip6-allnodes")
	line(netip.IPv6LinkLocalAllRouters(), "ip6-allrouters")

	for _, e := range extra {
		if e.IP.IsValid() && len(e.Aliases) > 0 {
			line(e.IP, e.Aliases...)
		}
	}

	return b.String()
}

// Limits of the C library.
const (
	maxNameServers   = 3
	maxSearchDomains = 256 // bytes, of glibc before 2.26
)

func renderResolvConf(servers []netip.Addr, searchDomains []string) string {
	var b strings.Builder

	for _, server := range servers[:min(len(servers), maxNameServers)] {
		fmt.Fprintf(&b, "nameserver %s\n", server)
	}

	search := ""

	for _, domain := range searchDomains {
		if len(search)+1+len(domain) > maxSearchDomains {
			break
		}

		search = strings.TrimPrefix(search+" "+domain, " ")
	}

	if search != "" {
		fmt.Fprintf(&b, "search %s\n", search)
	}

	return b.String()
}
