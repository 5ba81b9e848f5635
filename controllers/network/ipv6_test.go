// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/dhcp6"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// six returns a machine with one card on an IPv6 network, whose router has the flags.
func six(flags netlink.RouterFlags, slaac bool) *world {
	w := pair()
	w.kernel.Unplug(w.index("eth1"))
	clear(w.leases)

	w.leases6["eth0"] = &dhcp6.Lease{
		Addresses: []netip.Addr{addr("2001:db8:1::100")}, DNS: []netip.Addr{addr("2001:db8:1::53")}, NTP: []netip.Addr{addr("2001:db8:1::123")},
		Search: []string{"six.test"}, Hostname: "rack-6.six.test", Renew: time.Hour, Rebind: 2 * time.Hour, Expire: 3 * time.Hour,
	}

	w.router = func(index uint32) {
		p := netip.Prefix{}
		if slaac {
			p = prefix("2001:db8:1::/64")
		}

		w.kernel.Advertise(index, flags, p, addr("fe80::1"))
		w.kernel.AdvertiseOption(netlink.RouterOption{LinkIndex: index, DNSServers: []netip.Addr{addr("fe80::53")}, Lifetime: time.Hour})
		w.kernel.AdvertiseOption(netlink.RouterOption{LinkIndex: index, Search: []string{"ra.test"}, Lifetime: 2 * time.Hour})
	}

	return w
}

// quiet holds that nothing is written to the kernel for a while.
func quiet(t *testing.T, w *world) {
	t.Helper()

	time.Sleep(time.Minute)
	synctest.Wait()

	calls := len(w.kernel.Calls())

	time.Sleep(30 * time.Minute)
	synctest.Wait()

	if did := w.kernel.Calls()[calls:]; len(did) > 0 {
		t.Errorf("not quiet: %v", did)
	}
}

// The network has no IPv4: with routers and DHCPv6 the machine is ready.
func TestIPv6Only(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		flags                      netlink.RouterFlags
		slaac                      bool
		addresses, servers, search string
		hostname, times, operator  string
	}{
		{
			name: "addresses by routers", slaac: true, addresses: "2001:db8:1::2/64", servers: "fe80::53%eth0", search: "ra.test",
			hostname: "talos-2001-db8-1--2", times: DefaultTimeServer, operator: "waiting: no router on link eth0 advertises DHCPv6",
		},
		{
			name: "addresses by routers, the rest by DHCPv6", flags: netlink.RouterOtherConfig, slaac: true, addresses: "2001:db8:1::2/64",
			servers: "2001:db8:1::53 fe80::53%eth0", search: "six.test ra.test", hostname: "rack-6.six.test", times: "2001:db8:1::123", operator: "applied: ",
		},
		{
			name: "all by DHCPv6", flags: netlink.RouterManaged, addresses: "2001:db8:1::100/128",
			servers: "2001:db8:1::53 fe80::53%eth0", search: "six.test ra.test", hostname: "rack-6.six.test", times: "2001:db8:1::123", operator: "applied: ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := six(tt.flags, tt.slaac)

			inWorld(t, w, func(m *machine) {
				for _, id := range []string{files.Hosts, files.ResolvConf} {
					if err := typed.Set(t.Context(), m.state, "", id, files.EtcFileStatusSpec{}); err != nil {
						t.Fatal(err)
					}
				}

				m.boot("")
				await(m, "", network.StatusID, network.StatusSpec.Ready)
				await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool { return s.Addresses[0] == prefix(tt.addresses) })
				await(m, "", network.NodeAddressRoutedID, func(s network.NodeAddressSpec) bool {
					return slices.Equal(s.Addresses, []netip.Prefix{prefix(tt.addresses)})
				})
				await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.FQDN() == tt.hostname })
				await(m, "", network.ResolverID, func(s network.ResolverStatusSpec) bool {
					var servers []string
					for _, a := range s.DNSServers {
						servers = append(servers, a.String())
					}

					return strings.Join(servers, " ") == tt.servers && strings.Join(s.SearchDomains, " ") == tt.search
				})
				await(m, "", network.TimeServerID, func(s network.TimeServerStatusSpec) bool { return slices.Equal(s.NTPServers, []string{tt.times}) })
				await(m, "", "operator/dhcp6/eth0", func(s network.SpecConditionSpec) bool { return s.State.String()+": "+s.Cause == tt.operator })
				quiet(t, w)

				// DHCPv4 continues to ask, seldom, and reports that it waits; nothing fails.
				await(m, "", "operator/dhcp4/eth0", func(s network.SpecConditionSpec) bool {
					return s.State == network.SpecWaiting && strings.HasPrefix(s.Cause, "no lease from any server since ")
				})

				if n := w.count(&w.asked); n > 45 {
					t.Errorf("DHCPv4 asked %d times in half an hour, want about one a minute", n)
				}

				if n := w.count(&w.solicited); n > 2 {
					t.Errorf("routers were asked %d times though they answer, want once, or twice if the first answer came before the controller listened", n)
				}

				await(m, "", network.StatusID, network.StatusSpec.Ready)

				// What the router does not repeat ends.
				time.Sleep(2 * time.Hour)
				await(m, "", network.ResolverID, func(s network.ResolverStatusSpec) bool { return !slices.Contains(s.SearchDomains, "ra.test") })
			})
		})
	}
}

// Both families: each has its addresses and default route; the order is that of Kubernetes.
func TestDualStack(t *testing.T) {
	w := six(netlink.RouterManaged, true)
	w.leases["eth0"] = pair().leases["eth0"]

	inWorld(t, w, func(m *machine) {
		m.boot("")
		await(m, "", network.NodeAddressRoutedID, func(s network.NodeAddressSpec) bool {
			return slices.Equal(s.Addresses, []netip.Prefix{prefix("172.20.0.2/24"), prefix("2001:db8:1::2/64"), prefix("2001:db8:1::100/128")})
		})
		await[network.RouteStatusSpec](m, "", "inet4/172.20.0.1//1024", nil)
		await[network.RouteStatusSpec](m, "", "eth0/inet6/fe80::1//1024", nil)
		quiet(t, w)

		// A day without either server changes only the conditions.
		before := strings.Join(versions(m), " ") + hostnameVersion(m)

		w.silence()
		time.Sleep(24 * time.Hour)
		synctest.Wait()

		if after := strings.Join(versions(m), " ") + hostnameVersion(m); after != before {
			t.Errorf("got %s, want %s", after, before)
		}

		for _, id := range []string{"operator/dhcp4/eth0", "operator/dhcp6/eth0"} {
			await(m, "", id, func(s network.SpecConditionSpec) bool { return s.State == network.SpecDegraded })
		}
	})
}

// The configuration requests DHCPv6 whatever routers advertise; solicitations get no answer, and end.
func TestDHCPv6ByConfiguration(t *testing.T) {
	w := six(0, false)
	w.router = nil

	inWorld(t, w, func(m *machine) {
		m.boot("")
		m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: eth0, dhcp: true, dhcpOptions: {ipv4: false, ipv6: true}}\n")
		await[network.AddressStatusSpec](m, "", "eth0/2001:db8:1::100/128", nil)
		awaitGone[network.OperatorSpecSpec](m, "", "dhcp4/eth0")
		quiet(t, w)

		if n := w.count(&w.solicited); n != maxSolicitations {
			t.Errorf("routers were asked %d times, want %d", n, maxSolicitations)
		}
	})
}

// Each link's accept_ra is written before its forwarding: the kernel's parameters are set in this order.
func TestLinkParamsInOrder(t *testing.T) {
	w := pair()

	for i := range 8 {
		w.kernel.Plug(ethernet(fmt.Sprintf("eth%d", 2+i), byte(2+i)))
	}

	inWorld(t, w, func(m *machine) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()

		events := make(chan state.Event, 100)
		if err := m.state.WatchKind(ctx, resource.KindOf[runtime.KernelParamDefaultSpecSpec](""), events); err != nil {
			t.Fatal(err)
		}

		m.boot("")
		await[runtime.KernelParamDefaultSpecSpec](m, "", "proc.sys.net.ipv6.conf.eth9.forwarding", nil)
		synctest.Wait()

		stated := map[string]bool{}

		for len(events) > 0 {
			e := <-events
			if e.Type != state.Created {
				continue
			}

			id := e.Resource.Metadata().ID()
			stated[id] = true

			if link, ok := strings.CutSuffix(id, ".forwarding"); ok && !stated[link+".accept_ra"] {
				t.Errorf("%s is stated before its accept_ra", id)
			}
		}

		if len(stated) != 20 {
			t.Errorf("got %d parameters of 10 links, want 20", len(stated))
		}
	})
}

// A card that was added before the parameters' defaults also forwards IPv6 and accepts advertisements; links of pods are not changed.
func TestLinkParams(t *testing.T) {
	w := six(0, false)
	w.kernel.Plug(netlink.Link{Name: "veth77", Type: 1, Kind: "veth"})

	inWorld(t, w, func(m *machine) {
		m.boot("")
		m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: eth0, vlans: [{vlanId: 5}]}\n")
		await(m, "", "proc.sys.net.ipv6.conf.eth0.accept_ra", func(s runtime.KernelParamDefaultSpecSpec) bool { return s.Value == "2" && s.IgnoreErrors })
		await(m, "", "proc.sys.net.ipv6.conf.eth0/5.forwarding", func(s runtime.KernelParamDefaultSpecSpec) bool { return s.Value == "1" })
		synctest.Wait()

		for _, id := range []string{"veth77.accept_ra", "lo.accept_ra"} {
			if s, _ := typed.Find[runtime.KernelParamDefaultSpecSpec](t.Context(), m.state, "", "proc.sys.net.ipv6.conf."+id); s != nil {
				t.Errorf("%s is set", id)
			}
		}

		w.kernel.Unplug(w.index("eth0"))
		awaitGone[runtime.KernelParamDefaultSpecSpec](m, "", "proc.sys.net.ipv6.conf.eth0.accept_ra")
	})
}

// What any machine on a link can advertise does not fill the memory.
func TestRouterOptionsAreBounded(t *testing.T) {
	c := &routerDNS{said: map[uint32]*advertised{}}
	now := time.Unix(0, 0)

	for i := range 1000 {
		c.note(netlink.RouterOption{
			LinkIndex: 1, Lifetime: time.Duration(i/3) * time.Second,
			DNSServers: []netip.Addr{addr(fmt.Sprintf("2001:db8::%x", i))}, Search: []string{fmt.Sprintf("d%d.test", i)},
		}, now)
	}

	got := c.said[1].spec("eth0")
	if len(got.DNSServers) != maxAdvertised || len(got.SearchDomains) != maxAdvertised {
		t.Errorf("got %d servers and %d domains, want %d of each", len(got.DNSServers), len(got.SearchDomains), maxAdvertised)
	}

	if last := addr("2001:db8::3e7"); !slices.Contains(got.DNSServers, last) {
		t.Errorf("the server with the longest lifetime, %s, is not among %v", last, got.DNSServers)
	}
}
