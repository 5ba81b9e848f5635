// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/dhcp4"
	"github.com/seed-59268b81/talos/sys/netlink"
)

func lease() *dhcp4.Lease {
	return &dhcp4.Lease{
		Address: prefix("172.20.0.2/24"), Server: addr("172.20.0.1"), DNS: []netip.Addr{addr("172.20.0.1")}, NTP: []netip.Addr{addr("172.20.0.9")},
		Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr("172.20.0.1")}}, Domain: "lab.test", MTU: 1400,
		Renew: time.Hour, Rebind: 2 * time.Hour, Expire: 3 * time.Hour,
	}
}

// A machine without a configuration: DHCP on its card, addresses, routes, names, files.
func TestMaintenance(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.grant(lease())
	m.boot("")

	await(m, "", "eth0/172.20.0.2/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })
	await(m, "", "inet4/172.20.0.1//1024", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "eth0" })
	await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool {
		return slices.Equal(s.Addresses, []netip.Prefix{prefix("172.20.0.2/24")})
	})
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == "talos-172-20-0-2" })
	await(m, "", network.ResolverID, func(s network.ResolverStatusSpec) bool {
		return slices.Equal(s.DNSServers, []netip.Addr{addr("172.20.0.1")}) && slices.Equal(s.SearchDomains, []string{"lab.test"})
	})
	await(m, "", network.TimeServerID, func(s network.TimeServerStatusSpec) bool {
		return slices.Equal(s.NTPServers, []string{"172.20.0.9"})
	})
	await(m, "", "eth0", func(s network.LinkStatusSpec) bool { return s.MTU == 1400 && s.OperationalState == 6 })
	await(m, "", files.Hosts, func(s files.EtcFileSpecSpec) bool {
		return strings.Contains(s.Contents, "172.20.0.2      talos-172-20-0-2\n")
	})
	await(m, "", files.ResolvConf, func(s files.EtcFileSpecSpec) bool { return s.Contents == "nameserver 172.20.0.1\nsearch lab.test\n" })
	await(m, "", network.FirstHardwareAddr, func(s network.HardwareAddrSpec) bool { return s.Name == "eth0" })

	status := await(m, "", network.StatusID, func(s network.StatusSpec) bool { return s.AddressReady && s.ConnectivityReady && s.HostnameReady })
	if status.EtcFilesReady {
		t.Error("the files are ready, but were not written")
	}

	for _, id := range []string{files.Hosts, files.ResolvConf} {
		if err := typed.Set(t.Context(), m.state, "", id, files.EtcFileStatusSpec{SpecVersion: "1"}); err != nil {
			t.Fatal(err)
		}
	}

	await(m, "", network.StatusID, network.StatusSpec.Ready)

	// The protocol of a route prints as users know it.
	spec, err := typed.Get[network.AddressSpecSpec](t.Context(), m.state, network.ConfigNamespaceName, "operator/dhcp4/eth0/eth0/172.20.0.2/24")
	if err != nil {
		t.Fatal(err)
	}

	if got := spec.Metadata().Owner(); got != "network.OperatorSpecController" {
		t.Errorf("owner: got %q", got)
	}
}

// The configuration wins over DHCP, and what is removed from it is removed from the kernel.
func TestConfigurationWinsAndGoes(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.grant(lease())
	m.boot("")

	await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)

	had := func(s network.NodeAddressSpec) bool { return slices.Contains(s.Addresses, prefix("172.20.0.2/24")) }
	await(m, "", network.NodeAddressAccumulativeID, had) // or it may never be in the set

	m.configure(`
version: v1alpha1
machine:
  type: worker
  network:
    hostname: node-7.example.com
    nameservers: [192.0.2.53]
    interfaces:
      - deviceSelector: {hardwareAddr: "52:54:00:*"}
        mtu: 1300
        addresses: [192.0.2.7/24, "2001:db8::7/64"]
        routes:
          - network: 0.0.0.0/0
            gateway: 192.0.2.1
    extraHostEntries:
      - ip: 192.0.2.99
        aliases: [registry.example]
`)

	// DHCP ran only by default.
	awaitGone[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24")
	awaitGone[network.RouteStatusSpec](m, "", "inet4/172.20.0.1//1024")
	awaitGone[network.AddressSpecSpec](m, "", "eth0/172.20.0.2/24")
	await[network.AddressStatusSpec](m, "", "eth0/192.0.2.7/24", nil)
	await[network.AddressStatusSpec](m, "", "eth0/2001:db8::7/64", nil)
	await[network.RouteStatusSpec](m, "", "inet4/192.0.2.1//1024", nil)
	await(m, "", "eth0", func(s network.LinkStatusSpec) bool { return s.MTU == 1300 })
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.FQDN() == "node-7.example.com" })
	await(m, "", network.ResolverID, func(s network.ResolverStatusSpec) bool {
		return slices.Equal(s.DNSServers, []netip.Addr{addr("192.0.2.53")}) && slices.Equal(s.SearchDomains, []string{"example.com"})
	})
	await(m, "", files.Hosts, func(s files.EtcFileSpecSpec) bool {
		return strings.Contains(s.Contents, "192.0.2.7       node-7.example.com node-7\n") && strings.Contains(s.Contents, "192.0.2.99      registry.example\n")
	})

	for _, set := range []string{network.NodeAddressCurrentID, network.NodeAddressRoutedID} {
		await(m, "", set, func(s network.NodeAddressSpec) bool {
			return slices.Equal(s.Addresses, []netip.Prefix{prefix("192.0.2.7/24"), prefix("2001:db8::7/64")})
		})
	}

	await(m, "", network.NodeAddressAccumulativeID, had)

	// A pod's address is in the sets only as Kubernetes' own.
	if err := m.kernel.AddAddress(netlink.Address{LinkIndex: 1, Prefix: prefix("10.244.0.1/24")}); err != nil {
		t.Fatal(err)
	}

	await(m, "", "current-only-k8s", func(s network.NodeAddressSpec) bool {
		return slices.Equal(s.Addresses, []netip.Prefix{prefix("10.244.0.1/24")})
	})
	await(m, "", "current-no-k8s", func(s network.NodeAddressSpec) bool { return len(s.Addresses) == 2 })

	// Back to what it was.
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    hostname: node-8\n")
	await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)
	awaitGone[network.AddressStatusSpec](m, "", "eth0/192.0.2.7/24")
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.FQDN() == "node-8" })
}

// A change of the kernel by another program is undone.
func TestRepair(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.grant(lease())
	m.boot("")

	await[network.RouteStatusSpec](m, "", "inet4/172.20.0.1//1024", nil)

	if err := m.kernel.DeleteAddress(netlink.Address{LinkIndex: 2, Prefix: prefix("172.20.0.2/24")}); err != nil {
		t.Fatal(err)
	}

	awaitKernel(m, func() bool {
		addresses, _ := m.kernel.Addresses()

		return slices.ContainsFunc(addresses, func(a netlink.Address) bool { return a.Prefix == prefix("172.20.0.2/24") })
	})
}

// A card that is unplugged loses its settings; plugged in again it gets them back.
func TestUnplug(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.grant(lease())
	m.boot("")

	await[network.RouteStatusSpec](m, "", "inet4/172.20.0.1//1024", nil)
	m.kernel.Unplug(2)
	awaitGone[network.LinkStatusSpec](m, "", "eth0")
	awaitGone[network.AddressSpecSpec](m, "", "eth0/172.20.0.2/24")

	m.kernel.Plug(ethernet("eth0", 1))
	await(m, "", "inet4/172.20.0.1//1024", func(s network.RouteStatusSpec) bool { return s.OutLinkIndex == 3 })
}

// After a cable was unplugged the address stays, and the lease is checked.
func TestLinkFlap(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.grant(lease())
	m.boot("talos.hostname=fixed")

	await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == "fixed" })

	m.kernel.Carrier(2, false)
	await(m, "", "eth0", func(s network.LinkStatusSpec) bool { return s.OperationalState == 2 })

	if _, err := typed.Get[network.AddressStatusSpec](t.Context(), m.state, "", "eth0/172.20.0.2/24"); err != nil {
		t.Errorf("the address did not outlive the cable: %v", err)
	}

	moved := lease()
	moved.Address = prefix("172.20.0.3/24")
	m.grant(moved)
	m.kernel.Carrier(2, true)
	m.flapUntil(func() bool {
		a, _ := typed.Find[network.AddressStatusSpec](t.Context(), m.state, "", "eth0/172.20.0.3/24")

		return a != nil
	})

	await[network.AddressStatusSpec](m, "", "eth0/172.20.0.3/24", nil)
	awaitGone[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24")
	await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool { return s.Addresses[0] == prefix("172.20.0.3/24") })
}

// The server gets the machine's name; if it repeats it, the name is not fixed by that.
func TestHostnameOverDHCP(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	l := lease()
	l.Hostname = echo
	m.grant(l)
	m.boot("")

	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == "talos-172-20-0-2" })
	awaitKernel(m, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()

		return slices.Contains(m.told, "talos-172-20-0-2")
	})

	// With an identity and a configuration that requests it, the machine gets the stable name.
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n")

	if err := typed.Set(t.Context(), m.state, "", cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: "n1"}); err != nil {
		t.Fatal(err)
	}

	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == StableHostname("n1") })

	// A name from the server wins over it.
	own := lease()
	own.Hostname = "rack-4"
	m.grant(own)
	m.flapUntil(func() bool {
		h, _ := typed.Find[network.HostnameSpecSpec](t.Context(), m.state, network.ConfigNamespaceName, "operator/dhcp4/eth0/hostname")

		return h != nil
	})

	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.FQDN() == "rack-4.lab.test" })

	// It stays: it is not sent to the server as the machine's own name.
	hostname, err := typed.Get[network.HostnameStatusSpec](t.Context(), m.state, "", network.HostnameID)
	if err != nil {
		t.Fatal(err)
	}

	m.flapUntil(func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()

		return m.asked > 10
	})

	again, err := typed.Get[network.HostnameStatusSpec](t.Context(), m.state, "", network.HostnameID)
	if err != nil || again.Metadata().Version() != hostname.Metadata().Version() {
		t.Errorf("the hostname went to and fro: got version %s, %v, want %s", again.Metadata().VersionString(), err, hostname.Metadata().VersionString())
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	if slices.Contains(m.told, "rack-4") {
		t.Errorf("the server got its own name: %v", m.told)
	}
}

// All settings are on the kernel's command line.
func TestCmdline(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1), ethernet("eth1", 2))
	m.grant(lease())
	m.boot("ip=192.0.2.5::192.0.2.1:255.255.255.0:box:eth1:none:192.0.2.53::192.0.2.123 ip=192.0.2.300 talos.network.interface.ignore=eth0")

	await[network.AddressStatusSpec](m, "", "eth1/192.0.2.5/24", nil)
	await(m, "", "inet4/192.0.2.1//1024", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "eth1" })
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == "box" })
	await(m, "", network.TimeServerID, func(s network.TimeServerStatusSpec) bool { return s.NTPServers[0] == "192.0.2.123" })

	await(m, "", network.ResolverID, func(s network.ResolverStatusSpec) bool { return s.DNSServers[0] == addr("192.0.2.53") })

	if m.asked != 0 {
		t.Errorf("DHCP asked %d times, though one link is ignored and the other is configured", m.asked)
	}
}

// awaitKernel waits for something outside of the state.
func awaitKernel(m *machine, holds func() bool) {
	m.t.Helper()

	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("it did not happen; the changes of the kernel were:\n%s", strings.Join(m.kernel.Calls(), "\n"))
		}
	}
}

// flapUntil unplugs and plugs the cable: an interruption that is too short to be observed changes nothing.
func (m *machine) flapUntil(holds func() bool) {
	m.t.Helper()

	awaitKernel(m, func() bool {
		m.kernel.Carrier(2, false)
		time.Sleep(20 * time.Millisecond)
		m.kernel.Carrier(2, true)
		time.Sleep(20 * time.Millisecond)

		return holds()
	})
}
