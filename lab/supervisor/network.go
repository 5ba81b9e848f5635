// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"reflect"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/router"
	"github.com/seed-59268b81/talos/lab/world"
)

// secondDHCPPort is the port of a network's second DHCP server.
const secondDHCPPort = "second-dhcp"

// secondDHCPMAC differs from those of all machines: no IPv4 address begins with 0.
var secondDHCPMAC = net.HardwareAddr{0x52, 0x54, 0x00, 0x00, 0x00, 0x02}

// network is a running network.
type network struct {
	*world.Network // as it was created

	sw *netswitch.Switch
	gw *gateway.Gateway
	// services is their current behaviour.
	services world.Services
	// second is the second DHCP server, if there is one.
	second *gateway.Gateway
}

// openWorld starts the networks with their gateways, and the routers.
func (s *Supervisor) openWorld() error {
	w := &s.lab.World

	for i := range w.Networks {
		n := &network{Network: &w.Networks[i], services: w.Networks[i].Services}
		n.sw = netswitch.New(seedOf(s.lab.Seed, n.Name))
		s.networks[n.Name] = n

		var err error
		if n.gw, err = gateway.New(n.sw, s.gatewayConfig(n.Network)); err != nil {
			return fmt.Errorf("network %s: %w", n.Name, err)
		}

		if err := s.setSecondDHCP(n, n.services.SecondDHCP); err != nil {
			return fmt.Errorf("network %s: %w", n.Name, err)
		}
	}

	for i := range w.Routers {
		if err := s.openRouter(&w.Routers[i]); err != nil {
			return fmt.Errorf("router %s: %w", w.Routers[i].Name, err)
		}
	}

	return nil
}

// seedOf returns a seed for each network.
func seedOf(lab uint64, network string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(network)) // never fails

	return lab ^ h.Sum64()
}

// gatewayConfig returns the configuration of a network's gateway.
func (s *Supervisor) gatewayConfig(n *world.Network) gateway.Config {
	w := &s.lab.World
	cfg := gateway.Config{
		Subnet4: n.Subnet4, Addr4: n.Gateway4, Subnet6: n.Subnet6, Addr6: n.Gateway6, MTU: n.MTU,
		Domain: s.lab.Domain, LeaseTime: s.lab.LeaseTime, Offline: n.Offline,
		Services: n.Services.Only, Cloud: n.Services.Cloud,
		DHCP: n.Services.DHCP, DHCPv6: n.Services.DHCPv6, RA: announced(w, n, n.Services.RA),
		DNS: n.Services.DNS, NTP: n.Services.NTP, Metadata: n.Services.Metadata,
		Log: s.log.With("network", n.Name),
	}

	if n.Router != "" {
		cfg.Router4, cfg.Router6 = w.DefaultRouter(n)
	}

	if !n.Offline {
		cfg.Resolvers = gateway.HostResolvers()
	}

	for _, other := range w.Networks {
		for _, subnet := range []netip.Prefix{other.Subnet4, other.Subnet6} {
			// Another site may have the subnet of this one.
			if other.Name != n.Name && subnet.IsValid() && !subnet.Overlaps(n.Subnet4) && !subnet.Overlaps(n.Subnet6) {
				cfg.Inside = append(cfg.Inside, subnet)
			}
		}
	}

	for _, node := range s.lab.Nodes {
		for _, card := range node.Cards {
			if card.Network == n.Name {
				cfg.Hosts = append(cfg.Hosts, gateway.Host{
					Name: node.Name, MAC: card.HardwareAddr(), Addr4: card.Addr4, Addr6: card.Addr6, Instance: s.instance(n, &node),
				})
			}
		}
	}

	return cfg
}

// announced makes router advertisements announce the network's router, if it has one.
func announced(w *world.World, n *world.Network, ra gateway.RouterAdvertisement) gateway.RouterAdvertisement {
	if n.Router == "" || !n.Subnet6.IsValid() || !ra.From.IsZero() {
		return ra
	}

	mac := w.LegMAC(n.Router, n.Name)
	ra.From = gateway.AnnouncedRouter{Addr: gateway.SLAAC(netip.MustParsePrefix("fe80::/64"), mac[:]), MAC: mac.String()}

	return ra
}

// setSecondDHCP starts, changes or ends a network's second DHCP server.
func (s *Supervisor) setSecondDHCP(n *network, behaviour *gateway.DHCPBehaviour) error {
	switch {
	case behaviour == nil && n.second != nil:
		n.second.Close()
		n.second = nil
	case behaviour != nil && n.second != nil:
		return n.second.SetDHCP(*behaviour)
	case behaviour != nil:
		addr, err := s.lab.World.LastFree(n.Network, s.lab.Machines())
		if err != nil {
			return fmt.Errorf("second DHCP server: %w", err)
		}

		cfg := s.gatewayConfig(n.Network)
		cfg.PortName, cfg.MAC, cfg.Addr4 = secondDHCPPort, secondDHCPMAC, addr
		cfg.Subnet6, cfg.Addr6, cfg.Router6 = netip.Prefix{}, netip.Addr{}, netip.Addr{}
		cfg.Services, cfg.DHCP, cfg.Offline = []gateway.Service{gateway.ServiceDHCP}, *behaviour, true
		cfg.Cloud = ""
		cfg.Router4, _ = s.lab.World.DefaultRouter(n.Network)

		// The first gateway serves IPv6.
		for i := range cfg.Hosts {
			cfg.Hosts[i].Addr6 = netip.Addr{}
		}

		if n.second, err = gateway.New(n.sw, cfg); err != nil {
			return fmt.Errorf("second DHCP server: %w", err)
		}
	}

	return nil
}

// SetServices sets the behaviour of a network's services.
func (s *Supervisor) SetServices(name string, services world.Services) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	n, ok := s.networks[name]
	if !ok {
		return s.unknown("network", name)
	}

	return s.setServices(n, services)
}

// setServices needs mu.
func (s *Supervisor) setServices(n *network, services world.Services) error {
	if reflect.DeepEqual(services, n.services) {
		return nil
	}

	if err := n.Accepts(services); err != nil {
		return fmt.Errorf("services of network %s: %w", n.Name, err)
	}

	if !reflect.DeepEqual(services.Only, n.services.Only) || services.Cloud != n.services.Cloud {
		return fmt.Errorf("services of network %s: the services that run, and their cloud, cannot change after the lab is created", n.Name)
	}

	if text, err := json.Marshal(services); err == nil { // without healthy services
		s.log.Info("services", "network", n.Name, "behave", string(text))
	}

	was := n.services

	err := errors.Join(
		change(n.gw.SetDHCP, was.DHCP, services.DHCP), change(n.gw.SetDHCPv6, was.DHCPv6, services.DHCPv6),
		change(n.gw.SetRA, announced(&s.lab.World, n.Network, was.RA), announced(&s.lab.World, n.Network, services.RA)),
		change(n.gw.SetDNS, was.DNS, services.DNS), change(n.gw.SetNTP, was.NTP, services.NTP),
		change(n.gw.SetMetadata, was.Metadata, services.Metadata),
		s.setSecondDHCP(n, services.SecondDHCP),
	)
	if err != nil {
		return fmt.Errorf("services of network %s: %w", n.Name, err)
	}

	n.services = services

	return nil
}

// change sets a behaviour if it differs from the one before. Otherwise effects that count from the change, such as a
// drift, continue.
func change[T any](set func(T) error, was, now T) error {
	if reflect.DeepEqual(was, now) {
		return nil
	}

	return set(now)
}

func (s *Supervisor) closeWorld() {
	for _, r := range s.routers {
		r.Close()
	}

	for _, n := range s.networks {
		if n.second != nil {
			n.second.Close()
		}

		if n.gw != nil {
			n.gw.Close()
		}
	}
}

// openRouter starts a router on its networks.
func (s *Supervisor) openRouter(r *world.Router) error {
	var plugs []router.Plug
	for _, leg := range r.Legs {
		plugs = append(plugs, router.Plug{Switch: s.networks[leg.Network].sw, Port: r.Name})
	}

	started, err := router.Start(s.lab.World.RouterConfig(r), plugs)
	if err != nil {
		return err
	}

	s.routers[r.Name] = started

	return nil
}

// Listen opens a TCP port for the machines of a network, at its gateway. The listeners, one for each address of the gateway, end with the lab.
func (s *Supervisor) Listen(network string, port uint16) ([]net.Listener, error) {
	n, ok := s.networks[network]
	if !ok {
		return nil, s.unknown("network", network)
	}

	listeners, err := n.gw.Listen(port)
	if err != nil {
		return nil, fmt.Errorf("network %s: open port %d at its gateway: %w", network, port, err)
	}

	return listeners, nil
}
