// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
)

// The addresses of the test: the machine, and a neighbour with two of each family.
const (
	self4, self6 = "192.0.2.1", "2001:db8::1"
	from4, from6 = "192.0.2.7", "2001:db8::7"
	also4, also6 = "192.0.2.8", "2001:db8::8"
)

const firewalled = `version: v1alpha1
machine:
  type: worker
  network:
    interfaces:
      - {interface: lo}
      - {interface: eth0, addresses: [192.0.2.1/24, "2001:db8::1/64"]}
`

// ruleDocument returns a document about ports.
func ruleDocument(name, protocol, ports string, subnets ...string) string {
	text := "---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: " + name + "\nportSelector: {protocol: " + protocol + ", ports: [" + ports + "]}\ningress:\n"
	for _, s := range subnets {
		text += "  - subnet: " + s + "\n"
	}

	return text
}

func defaultDocument(action string) string {
	return "---\napiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: " + action + "\n"
}

// neighbour is a network namespace on the other end of the machine's link.
type neighbour struct {
	t *testing.T
	*nstest.Network
}

// startFirewalled runs a machine on the real kernel, with a neighbour.
func startFirewalled(t *testing.T) (*machine, *Deps, neighbour) {
	t.Helper()

	deps, closeDeps, err := Open(platform.Platform{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = closeDeps() })

	if deps.Filter == nil {
		t.Skip("no packet filter")
	}

	if _, err := deps.Filter.Read(); err != nil {
		t.Skip(err)
	}

	if err := deps.Kernel.CreateLink(netlink.NewLink{Name: "eth0", Kind: "veth", VethPeer: "other"}); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("this kernel has no veth")
		}

		t.Fatal(err)
	}

	links, err := deps.Kernel.Links()
	if err != nil {
		t.Fatal(err)
	}

	peer := links[slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == "other" })]
	n := neighbour{t, nstest.NewNetwork(t)}
	n.Take(peer.Index)
	n.Do(func() {
		k, err := netlink.Open()
		if err != nil {
			t.Error(err)

			return
		}
		defer k.Close()

		up := true
		if err := k.SetLink(peer.Index, netlink.LinkChange{Up: &up}); err != nil {
			t.Error(err)
		}

		for _, a := range []string{from4 + "/24", also4 + "/24", from6 + "/64", also6 + "/64"} {
			if err := k.AddAddress(netlink.Address{LinkIndex: peer.Index, Prefix: prefix(a)}); err != nil {
				t.Error(err)
			}
		}
	})

	m := &machine{t: t, patience: patience, state: memory.New()}
	run(t, m.state, Controllers(deps))
	m.boot("")
	m.configure(firewalled)
	await(m, "", network.NodeAddressCurrentID, func(s network.NodeAddressSpec) bool {
		return slices.Contains(s.IPs(), addr(self4)) && slices.Contains(s.IPs(), addr(self6))
	})

	// The addresses of the neighbour are tentative at first.
	n.eventually(func() string { return n.scan(from6, self6, 1) }, "1")

	return m, deps, n
}

// eventually waits until a result is what is wanted.
func (n neighbour) eventually(result func() string, want string) {
	n.t.Helper()

	var got string

	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got = result(); got == want {
			return
		}
	}

	n.t.Fatalf("got %q, want %q", got, want)
}

// some are the ports of a scan.
func some() []int {
	ports := []int{50000, 50001, 10250, 30080, 65535}
	for p := 1; p <= 500; p++ {
		ports = append(ports, p)
	}

	return append(ports, 30000, 30001, 30002, 30010, 30011)
}

// TestRealFirewall scans a machine from a neighbour, with one configuration after the other.
func TestRealFirewall(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m, deps, n := startFirewalled(t)
	all := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(slices.Sorted(slices.Values(some())))), " "), "[]")

	n.eventually(func() string { return n.scan(from4, self4, some()...) }, all)

	// Blocked by default: only what rules accept.
	blocked := firewalled + defaultDocument("block") + ruleDocument("apid", "tcp", "50000", "192.0.2.0/24", "2001:db8::/64") +
		ruleDocument("node-ports", "tcp", "30000-30010, 500", from4+"/32", from6+"/128")
	m.configure(blocked)
	n.eventually(func() string { return n.scan(from4, self4, some()...) }, "500 30000 30001 30002 30010 50000")
	n.eventually(func() string { return n.scan(from6, self6, some()...) }, "500 30000 30001 30002 30010 50000")
	n.eventually(func() string { return n.scan(also4, self4, some()...) }, "50000")
	n.eventually(func() string { return n.scan(also6, self6, some()...) }, "50000")
	await(m, "", "chain/ingress", func(s network.SpecConditionSpec) bool {
		return s == network.SpecConditionSpec{State: network.SpecApplied}
	})
	await(m, "", "chain/prerouting", func(s network.SpecConditionSpec) bool {
		return s == network.SpecConditionSpec{State: network.SpecApplied}
	})

	// An established connection outlives the rule that accepted it.
	l := listen(t, "tcp", ":30001")

	var established int

	n.Do(func() {
		var err error
		if established, err = connect(from4, self4, 30001); err != nil {
			t.Error(err)
		}
	})

	defer unix.Close(established)

	if !answered(established, time.Minute) {
		t.Fatal("no connection")
	}

	before, err := deps.Filter.Read()
	if err != nil {
		t.Fatal(err)
	}

	m.configure(strings.Replace(blocked, from4+"/32", also4+"/32", 1))
	n.eventually(func() string { return n.scan(from4, self4, some()...) }, "50000")
	n.eventually(func() string { return n.scan(also4, self4, some()...) }, "500 30000 30001 30002 30010 50000")

	if got := echo1(established, "still here"); got != "still here" {
		t.Errorf("the established connection answers %q", got)
	}

	l.Close()

	// Only an element of a set has changed.
	after, err := deps.Filter.Read()
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(before.Chains, after.Chains); diff != "" || len(before.Sets) != len(after.Sets) {
		t.Errorf("the chains have changed (-before +after):\n%s", diff)
	}

	// Accepted by default: a rule blocks its ports for others, also for the other family.
	m.configure(firewalled + defaultDocument("accept") + ruleDocument("kubelet", "tcp", "10250", also4+"/32"))
	n.eventually(func() string { return n.scan(from4, self4, some()...) }, strings.Replace(all, " 10250", "", 1))
	n.eventually(func() string { return n.scan(from6, self6, some()...) }, strings.Replace(all, " 10250", "", 1))
	n.eventually(func() string { return n.scan(also4, self4, some()...) }, all)

	// Without the documents, all is as before.
	m.configure(firewalled)
	n.eventually(func() string { return n.scan(from4, self4, some()...) }, all)
	awaitGone[network.NfTablesChainSpec](m, "", "ingress")
	awaitGone[network.SpecConditionSpec](m, "", "chain/ingress")
}

// TestRealNodePorts: a port that kube-proxy redirects is filtered by the number that the client used.
func TestRealNodePorts(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m, _, n := startFirewalled(t)
	redirect(t, 30080, 10250)

	m.configure(firewalled + defaultDocument("block") + ruleDocument("apid", "tcp", "50000", "0.0.0.0/0") + ruleDocument("kubelet", "tcp", "10250", from4+"/32"))
	n.eventually(func() string { return n.scan(from4, self4, 30080, 10250, 50000) }, "10250 50000")

	m.configure(firewalled + defaultDocument("accept") + ruleDocument("port", "tcp", "30080", also4+"/32"))
	n.eventually(func() string { return n.scan(from4, self4, 30080, 10250, 50000) }, "10250 50000")
	n.eventually(func() string { return n.scan(also4, self4, 30080, 10250, 50000) }, "10250 30080 50000")
}

// TestRealChangesLockNoClientOut changes the rules many times while a client connects to the API: no packet is lost.
func TestRealChangesLockNoClientOut(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m, _, n := startFirewalled(t)
	apid := firewalled + defaultDocument("block") + ruleDocument("apid", "tcp", "50000", "192.0.2.0/24")
	configurations := []string{
		apid,
		firewalled + defaultDocument("block") + ruleDocument("apid", "tcp", "50000", "192.0.2.0/25", "198.51.100.0/24"),
		firewalled + defaultDocument("block") + ruleDocument("first", "udp", "53", "0.0.0.0/0") + ruleDocument("apid", "tcp", "50000", from4+"/32"),
		firewalled + defaultDocument("accept") + ruleDocument("apid", "tcp", "50000", from4+"/32"),
		firewalled,
	}

	m.configure(apid)
	n.eventually(func() string { return n.scan(from4, self4, 50000, 50001) }, "50000")

	var stop atomic.Bool

	results := make(chan string, 1)

	go func() {
		tried := 0

		for !stop.Load() {
			var ok bool

			begin := time.Now()

			n.Do(func() {
				fd, err := connect(from4, self4, 50000)
				if err != nil {
					ok = errors.Is(err, unix.ECONNREFUSED)

					return
				}

				ok = answered(fd, 900*time.Millisecond) // a client repeats a packet after a second
				unix.Close(fd)
			})

			if !ok {
				results <- fmt.Sprintf("connection %d: no answer in %s", tried, time.Since(begin))

				return
			}

			tried++
		}

		results <- ""
	}()

	for i := range 100 {
		m.configure(configurations[i%len(configurations)])
		time.Sleep(10 * time.Millisecond)
	}

	stop.Store(true)

	if failed := <-results; failed != "" {
		t.Error(failed)
	}
}
