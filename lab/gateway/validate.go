// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
)

// maxLease is the longest lease below infinity.
const maxLease = (1<<32 - 2) * time.Second

// setDefaults fills in defaults, and returns an error for what is not possible.
func (c *Config) setDefaults() error {
	c.PortName = cmp.Or(c.PortName, PortName)
	c.MTU = cmp.Or(c.MTU, 1500)
	c.LeaseTime = cmp.Or(c.LeaseTime, time.Hour)

	if c.MAC == nil {
		c.MAC = DefaultMAC
	}

	if c.LeaseTime < time.Second || c.LeaseTime%time.Second != 0 || c.LeaseTime > maxLease {
		return fmt.Errorf("gateway: lease time %v is not whole seconds from 1s to %v", c.LeaseTime, maxLease)
	}

	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}

	if err := c.checkSubnets(); err != nil {
		return err
	}

	if err := c.checkHosts(); err != nil {
		return err
	}

	if err := c.checkServices(); err != nil {
		return err
	}

	if _, err := metadata.New(c.allInstances()); err != nil {
		return err
	}

	return errors.Join(c.DHCP.Validate(), c.DHCPv6.Validate(), c.RA.Validate(), c.DNS.Validate(), c.NTP.Validate(), c.Metadata.Validate())
}

func (c *Config) checkSubnets() error {
	if len(c.MAC) != 6 || c.MAC[0]&1 != 0 {
		return fmt.Errorf("gateway hardware address %v is not that of a network card", c.MAC)
	}

	if !c.Subnet4.IsValid() && !c.Subnet6.IsValid() {
		return errors.New("gateway: the network has neither an IPv4 nor an IPv6 subnet")
	}

	if c.Subnet4.IsValid() && (!c.Subnet4.Addr().Is4() || !c.Subnet4.Contains(c.Addr4)) {
		return fmt.Errorf("gateway address %v is not in the IPv4 subnet %v", c.Addr4, c.Subnet4)
	}

	if c.Subnet6.IsValid() {
		if c.Addr6 == (netip.Addr{}) {
			c.Addr6 = c.Subnet6.Masked().Addr().Next()
		}

		if !c.Subnet6.Addr().Is6() || c.Subnet6.Addr().Is4In6() || !c.Subnet6.Contains(c.Addr6) {
			return fmt.Errorf("gateway address %v is not in the IPv6 subnet %v", c.Addr6, c.Subnet6)
		}

		if c.MTU < minMTU6 {
			return fmt.Errorf("MTU %d of the network is less than IPv6's %d", c.MTU, minMTU6)
		}
	}

	if c.Router4.IsValid() && !c.Subnet4.Contains(c.Router4) {
		return fmt.Errorf("router %v is not in the IPv4 subnet %v", c.Router4, c.Subnet4)
	}

	if c.Router6.IsValid() && !c.Subnet6.Contains(c.Router6) && !linkLocal6.Contains(c.Router6) {
		return fmt.Errorf("router %v is neither link-local nor in the IPv6 subnet %v", c.Router6, c.Subnet6)
	}

	return nil
}

func (c *Config) checkHosts() error {
	taken := map[netip.Addr]string{c.Addr4: "the gateway", c.Addr6: "the gateway"}
	delete(taken, netip.Addr{})

	c.Hosts = slices.Clone(c.Hosts)

	for i := range c.Hosts {
		h := &c.Hosts[i]
		if len(h.MAC) != 6 {
			return fmt.Errorf("hardware address %v of machine %s is not an Ethernet address", h.MAC, h.Name)
		}

		if c.Subnet6.IsValid() && !h.Addr6.IsValid() {
			if c.Subnet6.Bits() != 64 {
				return fmt.Errorf("machine %s has no address in subnet %v, and can choose one itself only in a /64", h.Name, c.Subnet6)
			}

			h.Addr6 = SLAAC(c.Subnet6, h.MAC)
		}

		for _, at := range []struct {
			subnet netip.Prefix
			addr   netip.Addr
		}{{c.Subnet4, h.Addr4}, {c.Subnet6, h.Addr6}} {
			if !at.subnet.IsValid() && !at.addr.IsValid() {
				continue
			}

			if !at.subnet.Contains(at.addr) {
				return fmt.Errorf("address %v of machine %s is not in subnet %v", at.addr, h.Name, at.subnet)
			}

			if who, used := taken[at.addr]; used {
				return fmt.Errorf("address %v of machine %s is taken by %s", at.addr, h.Name, who)
			}

			taken[at.addr] = h.Name
		}

		if d := h.Delegated; d.IsValid() && (!c.Subnet6.IsValid() || !d.Addr().Is6() || d.Overlaps(c.Subnet6)) {
			return fmt.Errorf("prefix %v delegated to machine %s is not an IPv6 prefix beside subnet %v", d, h.Name, c.Subnet6)
		}
	}

	return nil
}

// possible is a service and whether it can run on the network.
type possible struct {
	Service
	possible bool
	needs    string
}

func (c *Config) checkServices() error {
	cloud := c.Cloud != "" || slices.ContainsFunc(c.Hosts, func(h Host) bool { return h.Instance.Platform != "" })
	known := []possible{
		{ServiceDNS, true, ""}, {ServiceNTP, true, ""}, {ServiceDHCP, c.Subnet4.IsValid(), "an IPv4 subnet"},
		{ServiceDHCPv6, c.Subnet6.IsValid(), "an IPv6 subnet"}, {ServiceRA, c.Subnet6.IsValid(), "an IPv6 subnet"},
		{ServiceMetadata, cloud, fmt.Sprintf("a cloud, one of %v", metadata.Platforms())},
	}

	all := c.Services == nil

	for _, k := range known {
		switch {
		case all && k.possible:
			c.Services = append(c.Services, k.Service)
		case !k.possible && slices.Contains(c.Services, k.Service):
			return fmt.Errorf("service %s needs %s", k.Service, k.needs)
		}
	}

	for _, s := range c.Services {
		if !slices.ContainsFunc(known, func(k possible) bool { return k.Service == s }) {
			return fmt.Errorf("unknown service %q", s)
		}
	}

	return nil
}

// has reports whether a service runs.
func (c *Config) has(s Service) bool { return slices.Contains(c.Services, s) }

// routes returns the gateway's routes beyond its subnets.
func (c *Config) routes() []route {
	var routes []route
	if c.has(ServiceMetadata) && c.Subnet4.IsValid() {
		routes = append(routes, route{to: linkLocal4}) // of hosts that have no lease yet
	}

	for _, p := range c.Inside {
		if via := c.Router4; p.Addr().Is4() && via.IsValid() {
			routes = append(routes, route{p, via})
		}

		if via := c.Router6; p.Addr().Is6() && via.IsValid() {
			routes = append(routes, route{p, via})
		}
	}

	for _, h := range c.Hosts {
		if h.Delegated.IsValid() {
			routes = append(routes, route{h.Delegated, SLAAC(linkLocal6, h.MAC)})
		}
	}

	return routes
}
