// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
)

// plain is a configuration without a document of the network.
const plain = "version: v1alpha1\nmachine: {type: worker}\n"

// onKernel starts the controllers on the real kernel of an isolated test, as on a machine in a container: eth0 is a network card there, and
// another machine, gw, is at its other end.
func onKernel(t *testing.T, change ...func(*Deps)) *machine {
	t.Helper()

	deps, _, _ := openVeth(t, platform.Platform{Mode: platform.Container}, "eth0", "gw")
	for _, c := range change {
		c(deps)
	}

	links, err := deps.Kernel.Links()
	if err != nil {
		t.Fatal(err)
	}

	up := true

	for _, l := range links {
		settings := netlink.LinkChange{Up: &up}
		if number, ok := strings.CutPrefix(l.Name, "eth"); ok {
			settings.Address = []byte{0x52, 0x54, 0, 0, 0, 2 + '0' - number[0]} // the first one's ends with 2, the second one's with 1
		}

		if err := deps.Kernel.SetLink(l.Index, settings); err != nil {
			t.Fatal(err)
		}
	}

	m := &machine{t: t, patience: patience, state: memory.New()}
	run(t, m.state, Controllers(deps))
	m.boot("")

	return m
}

// TestRealLinkConfig sets up a network card by its name and by its alias, and undoes that.
func TestRealLinkConfig(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m := onKernel(t)

	const alias = "LinkAliasConfig\nname: net0\nselector: {match: 'mac(link.permanent_addr) == \"52:54:00:00:00:02\"'}\n---\n"

	for _, tt := range []struct{ name, documents string }{{"eth0", ""}, {"net0", alias}} {
		m.configure(documents(tt.documents + "LinkConfig\nname: " + tt.name + `
mtu: 1300
multicast: false
addresses: [{address: 192.0.2.7/24}, {address: "2001:db8::7/64"}]
routes: [{destination: 203.0.113.0/24, gateway: 192.0.2.9}]
`))

		await(m, "", "eth0", func(s network.LinkStatusSpec) bool {
			return s.MTU == 1300 && s.LinkState && s.Flags&nethelpers.LinkMulticast == 0 && (s.Alias == "net0") == (tt.documents != "")
		})
		await[network.AddressStatusSpec](m, "", "eth0/192.0.2.7/24", nil)
		await[network.AddressStatusSpec](m, "", "eth0/2001:db8::7/64", nil)
		await(m, "", "inet4/192.0.2.9/203.0.113.0/24/1024", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "eth0" })

		m.configure(plain)
		await(m, "", "eth0", func(s network.LinkStatusSpec) bool {
			return s.MTU == 1500 && s.Flags&nethelpers.LinkMulticast != 0 && s.Alias == "" && len(s.AltNames) == 0
		})
		awaitGone[network.AddressStatusSpec](m, "", "eth0/192.0.2.7/24")
		awaitGone[network.AddressStatusSpec](m, "", "eth0/2001:db8::7/64")
		awaitGone[network.RouteStatusSpec](m, "", "inet4/192.0.2.9/203.0.113.0/24/1024")
	}
}

// TestRealAliasMoves gives the alias that documents mean to another network card, and back.
func TestRealAliasMoves(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m := onKernel(t, func(d *Deps) {
		if err := d.Kernel.CreateLink(netlink.NewLink{Name: "eth1", Kind: "veth", VethPeer: "gw1"}); err != nil {
			t.Fatal(err)
		}
	})

	for range 2 {
		aliasMoves(m, "eth0", "eth1", 2)
		aliasMoves(m, "eth1", "eth0", 1)
	}

	m.configure(plain)

	for _, card := range []string{"eth0", "eth1"} {
		await(m, "", card, func(s network.LinkStatusSpec) bool { return s.MTU == 1500 && s.Alias == "" && len(s.AltNames) == 0 })
		awaitGone[network.AddressStatusSpec](m, "", card+"/192.0.2.7/24")
	}
}

// TestRealVIP gives the elected machine the virtual address, and takes it back.
func TestRealVIP(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	var v votes

	m := onKernel(t, func(d *Deps) { d.Elect = v.elect })
	m.configure(fmt.Sprintf(withVIP, 7))
	m.clusterRuns()

	await(m, "", vipAddress, func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })
	m.configure("version: v1alpha1\nmachine: {type: controlplane}\n")
	awaitGone[network.AddressStatusSpec](m, "", vipAddress)
}

// TestRealRoutingRules adds and removes rules of all kinds. A rule without addresses is for both families.
func TestRealRoutingRules(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m := onKernel(t)

	for _, tt := range []struct {
		rule  string
		ids   []string
		holds func(network.RoutingRuleStatusSpec) bool
	}{
		{"src: 203.0.113.0/24\ntable: \"1000\"", []string{"inet4/01234"}, func(s network.RoutingRuleStatusSpec) bool {
			return s.Src == prefix("203.0.113.0/24") && s.Table == 1000
		}},
		{"dst: \"2001:db8:7::/48\"\ntable: main", []string{"inet6/01234"}, func(s network.RoutingRuleStatusSpec) bool {
			return s.Dst == prefix("2001:db8:7::/48") && s.Table == nethelpers.TableMain
		}},
		{"iifName: eth0\noifName: gw\ntable: \"1000\"", []string{"inet4/01234", "inet6/01234"}, func(s network.RoutingRuleStatusSpec) bool {
			return s.IIFName == "eth0" && s.OIFName == "gw"
		}},
		{"fwMark: 16\nfwMask: 240\ntable: \"1000\"", []string{"inet4/01234", "inet6/01234"}, func(s network.RoutingRuleStatusSpec) bool {
			return s.FwMark == 16 && s.FwMask == 240
		}},
		{"src: 203.0.113.0/24\naction: 7", []string{"inet4/01234"}, func(s network.RoutingRuleStatusSpec) bool {
			return s.Action.String() == "unreachable"
		}},
	} {
		m.configure(documents("RoutingRuleConfig\nname: \"1234\"\n" + tt.rule))

		for _, id := range tt.ids {
			await(m, "", id, tt.holds)
		}

		m.configure(plain)

		for _, id := range tt.ids {
			awaitGone[network.RoutingRuleStatusSpec](m, "", id)
		}
	}
}

// TestRealBridgeAddress: a bridge keeps the hardware address of its document while ports with lower ones, which the kernel would take, come and
// go.
func TestRealBridgeAddress(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m := onKernel(t)

	var index uint32

	for _, ports := range []string{"", "va", "eth0, va", "eth0", ""} {
		m.configure(documents("BridgeConfig\nname: br0\nhardwareAddr: \"fe:ff:ff:00:00:07\"\nlinks: [" + ports + "]\n---\nVethConfig\nname: va\npeer: {name: vb}\n"))

		bridge := await(m, "", "br0", func(s network.LinkStatusSpec) bool {
			return s.HardwareAddr.String() == "fe:ff:ff:00:00:07" && s.Flags&nethelpers.LinkUp != 0
		})
		if index == 0 {
			index = bridge.Index
		}

		for _, port := range []string{"eth0", "va"} {
			await(m, "", port, func(s network.LinkStatusSpec) bool { return s.MasterIndex != 0 == strings.Contains(ports, port) })
		}

		await(m, "", "br0", func(s network.LinkStatusSpec) bool {
			return s.Index == index && s.HardwareAddr.String() == "fe:ff:ff:00:00:07"
		})
	}
}

// TestRealProbes: documents probe real servers by TCP and by HTTP, one of which fails.
func TestRealProbes(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m := onKernel(t)
	await[network.AddressStatusSpec](m, "", "lo/127.0.0.1/8", nil)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()

	const often = "\ninterval: 100ms\nfailureThreshold: 1\n"

	tcp, byHTTP := "tcp:"+listener.Addr().String(), "http:"+web.URL+"/healthz"
	first := "HTTPProbeConfig\nname: web\nurl: " + web.URL + "/healthz" + often

	m.configure(documents(first + "---\nTCPProbeConfig\nname: server\nendpoint: " + listener.Addr().String() + often))
	await(m, "", tcp, func(s network.ProbeStatusSpec) bool { return s.Success })
	await(m, "", byHTTP, func(s network.ProbeStatusSpec) bool { return s.Success })

	_ = listener.Close()

	await(m, "", tcp, func(s network.ProbeStatusSpec) bool { return !s.Success && strings.Contains(s.LastError, "refused") })
	await(m, "", byHTTP, func(s network.ProbeStatusSpec) bool { return s.Success })

	m.configure(documents(first))
	awaitGone[network.ProbeStatusSpec](m, "", tcp)
	m.configure(plain)
	awaitGone[network.ProbeStatusSpec](m, "", byHTTP)
}
