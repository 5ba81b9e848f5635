// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

var compareAddr = cmpopts.EquateComparable(netip.Addr{})

func sortNodes(s *state.Lab) {
	slices.SortFunc(s.Nodes, func(a, b state.Node) int { return cmp.Compare(a.Name, b.Name) })
}

// runNet runs a command of cluster net on the fake's cluster.
func runNet(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()

	return run(t, append([]string{"net", "--state", dir, "--name", "demo"}, args...)...)
}

func TestNetShow(t *testing.T) {
	f, dir := startFake(t)

	for _, err := range []error{
		f.SetLink("demo-worker-1/1", netswitch.Link{In: netswitch.Impairment{
			Delay: time.Second, Jitter: time.Millisecond, Loss: 0.05, Duplicate: 0.1, Corrupt: 0.2, Bandwidth: 1e7, DropOver: 1414, Block: netswitch.UDP,
		}}),
		f.SetLeg("home-router", "internet", world.Setting{BlockUDP: true, SilentTooBig: true, NAT: &nat.Config{Mapping: nat.AddressDependent, UDPTimeout: time.Minute}}),
		f.SetServices("home", world.Services{NTP: gateway.NTPBehaviour{Offset: time.Hour}, SecondDHCP: &gateway.DHCPBehaviour{}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	if _, err := runNet(t, dir, "partition", "worker-1", "worker-2"); err != nil {
		t.Fatal(err)
	}

	got, err := runNet(t, dir, "show")
	if err != nil {
		t.Fatal(err)
	}

	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}

	slices.Sort(lines[len(lines)-2:]) // of a map

	want := []string{
		"NETWORK SUBNET GATEWAY DEFAULT ROUTER MTU LEADS OUT SERVICES GATEWAY'S LINK",
		"internet 203.0.113.0/24 203.0.113.1 gateway 1500 yes healthy good",
		"home 10.6.1.0/24 10.6.1.1 home-router 1500 yes second DHCP server healthy; NTP ahead by 1h0m0s, gains 0 ppm good",
		"storage 10.7.2.0/24 fd00:7::/64 10.7.2.1 fd00:7::1 gateway 9000 no healthy good",
		"",
		"ROUTER NETWORK ADDRESS NAT FILTER LINK",
		"home-router home 10.6.1.254 none none good",
		"home-router internet 203.0.113.254 mapping address-dependent, filtering address-and-port-dependent, UDP timeout 1m0s no UDP; too big is lost silently good",
		"",
		"CARD NETWORK ADDRESS MAC PLUGGED IN LINK SENT RECEIVED LOST",
		"demo-controlplane-1/0 internet 203.0.113.2 52:54:cb:00:71:02 yes good 1.0 MiB 2.0 MiB 3",
		"demo-worker-1/0 home 10.6.1.2 52:54:0a:06:01:02 yes good 1.0 MiB 2.0 MiB 3",
		"demo-worker-1/1 storage 10.7.2.2 fd00:7::5054:aff:fe07:202 52:54:0a:07:02:02 yes " +
			"in: delay 1s±1ms loss 5% duplicate 10% corrupt 20% bandwidth 10000000 bit/s drop over 1414 bytes block udp 1.0 MiB 2.0 MiB 3",
		"demo-worker-2/0 home 10.6.1.3 52:54:0a:06:01:03 yes good 1.0 MiB 2.0 MiB 3",
		"",
		"FROM TO NETWORK PATH",
		"demo-worker-1/0 demo-worker-2/0 home cut",
		"demo-worker-2/0 demo-worker-1/0 home cut",
	}
	if d := gocmp.Diff(want, lines); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestNetLinks runs the commands for links one after the other: each changes one property only.
func TestNetLinks(t *testing.T) {
	f, dir := startFake(t)

	tests := []struct {
		args string
		said string
		// links are the links with faults afterwards.
		want map[string]netswitch.Link
	}{
		{
			"delay worker-2 200ms --jitter 20ms", "demo-worker-2/0 on home: delay 200ms±20ms\n",
			map[string]netswitch.Link{"demo-worker-2/0": same(netswitch.Impairment{Delay: 200 * time.Millisecond, Jitter: 20 * time.Millisecond})},
		},
		{
			"delay 10.6.1.3 100ms --direction in", "demo-worker-2/0 on home: in: delay 100ms±0s, out: delay 200ms±20ms\n",
			map[string]netswitch.Link{"demo-worker-2/0": {
				In: netswitch.Impairment{Delay: 100 * time.Millisecond}, Out: netswitch.Impairment{Delay: 200 * time.Millisecond, Jitter: 20 * time.Millisecond},
			}},
		},
		{"heal demo-worker-2", "demo-worker-2 healed\n", map[string]netswitch.Link{}},
		{
			"loss worker-1/storage 5%", "demo-worker-1/1 on storage: loss 5%\n",
			map[string]netswitch.Link{"demo-worker-1/1": same(netswitch.Impairment{Loss: 0.05})},
		},
		{
			"bandwidth worker-1/1 10Mbit", "demo-worker-1/1 on storage: loss 5% bandwidth 10000000 bit/s\n",
			map[string]netswitch.Link{"demo-worker-1/1": same(netswitch.Impairment{Loss: 0.05, Bandwidth: 1e7})},
		},
		{
			"mtu worker-1/1 1400", "demo-worker-1/1 on storage: loss 5% bandwidth 10000000 bit/s drop over 1414 bytes\n",
			map[string]netswitch.Link{"demo-worker-1/1": same(netswitch.Impairment{Loss: 0.05, Bandwidth: 1e7, DropOver: 1414})},
		},
		{
			"mtu worker-1/1 0", "demo-worker-1/1 on storage: loss 5% bandwidth 10000000 bit/s\n",
			map[string]netswitch.Link{"demo-worker-1/1": same(netswitch.Impairment{Loss: 0.05, Bandwidth: 1e7})},
		},
		{"heal", "all faults healed\n", map[string]netswitch.Link{}},
		{
			"duplicate home 10", // a network: each packet suffers once
			"demo-worker-1/0 on home: in: duplicate 10%\ndemo-worker-2/0 on home: in: duplicate 10%\n" +
				"home-router on home: in: duplicate 10%\ngateway on home: in: duplicate 10%\n",
			map[string]netswitch.Link{
				"demo-worker-1/0": {In: netswitch.Impairment{Duplicate: 0.1}}, "demo-worker-2/0": {In: netswitch.Impairment{Duplicate: 0.1}},
				"home-router": {In: netswitch.Impairment{Duplicate: 0.1}}, "gateway": {In: netswitch.Impairment{Duplicate: 0.1}},
			},
		},
		{"heal home", "home healed\n", map[string]netswitch.Link{}},
		{
			"corrupt home-router/internet 0.5%", "home-router on internet: corrupt 0.5%\n",
			map[string]netswitch.Link{"home-router": same(netswitch.Impairment{Corrupt: 0.005})},
		},
		{
			"cut home-router/internet --for 1ms", "home-router on internet: cut\nas before\n",
			map[string]netswitch.Link{"home-router": same(netswitch.Impairment{Corrupt: 0.005})},
		},
	}

	for _, tt := range tests {
		said, err := runNet(t, dir, strings.Fields(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}

		if said != tt.said {
			t.Errorf("%s: said %q, want %q", tt.args, said, tt.said)
		}

		got := map[string]netswitch.Link{}

		for p, link := range f.links {
			if link != (netswitch.Link{}) {
				got[p.Name] = link
			}
		}

		if d := gocmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: links (-want +got):\n%s", tt.args, d)
		}
	}
}

func same(i netswitch.Impairment) netswitch.Link { return netswitch.Link{In: i, Out: i} }

func TestNetPartition(t *testing.T) {
	f, dir := startFake(t)

	said, err := runNet(t, dir, "partition", "worker-1", "worker-2,home-router")
	if want := "group 1: demo-worker-1\ngroup 2: demo-worker-2, home-router\n"; err != nil || said != want {
		t.Errorf("got %q, %v, want %q", said, err, want)
	}

	if len(f.paths) != 4 { // two pairs, both ways
		t.Errorf("got paths %v, want 4", f.paths)
	}

	if _, err := runNet(t, dir, "heal", "worker-2"); err != nil || len(f.paths) != 2 {
		t.Errorf("after healing one machine: got %v, %v, want the paths of the router", f.paths, err)
	}

	if said, err := runNet(t, dir, "partition", "worker-1", "worker-2,home-router", "--for", "1ms"); err != nil || len(f.paths) != 0 || !strings.HasSuffix(said, "as before\n") {
		t.Errorf("for a moment: got %q, %v, %v, want no path cut", said, f.paths, err)
	}
}

func TestNetNAT(t *testing.T) {
	f, dir := startFake(t)

	tests := []struct {
		args, said string
		want       *nat.Config
	}{
		{"nat home symmetric", "home-router: NAT symmetric\n", &nat.Config{Mapping: nat.AddressAndPortDependent, Filtering: nat.AddressAndPortDependent}},
		{
			"nat home-router full-cone --filtering address-dependent --hairpin external --udp-timeout 30s",
			"home-router: NAT restricted, hairpin external, UDP timeout 30s\n",
			&nat.Config{Mapping: nat.EndpointIndependent, Filtering: nat.AddressDependent, Hairpin: nat.HairpinExternal, UDPTimeout: 30 * time.Second},
		},
		{"nat home-router/internet --none", "home-router/internet: no NAT\n", nil},
		{"heal home-router", "home-router healed\n", &nat.Config{}},
	}

	for _, tt := range tests {
		said, err := runNet(t, dir, strings.Fields(tt.args)...)
		if err != nil || said != tt.said {
			t.Errorf("%s: got %q, %v, want %q", tt.args, said, err, tt.said)
		}

		if d := gocmp.Diff(tt.want, f.natOf(), compareAddr); d != "" {
			t.Errorf("%s: NAT (-want +got):\n%s", tt.args, d)
		}
	}
}

func TestNetServices(t *testing.T) {
	f, dir := startFake(t)

	tests := []struct {
		args, said string
		want       world.Services
	}{
		{"dhcp home --silent", "services of home: DHCP silent\n", world.Services{DHCP: gateway.DHCPBehaviour{Silent: true}}},
		{
			"dhcp home --second --no-router --lease-time 10s", "services of home: DHCP silent; second DHCP server sends no router, leases for 10s\n",
			world.Services{
				DHCP: gateway.DHCPBehaviour{Silent: true}, SecondDHCP: &gateway.DHCPBehaviour{NoRouter: true, LeaseTime: 10 * time.Second},
			},
		},
		{"dhcp home", "services of home: healthy\n", world.Services{}},
		{"ntp home --offset -2h", "services of home: NTP ahead by -2h0m0s, gains 0 ppm\n", world.Services{NTP: gateway.NTPBehaviour{Offset: -2 * time.Hour}}},
		{
			"dns home --rcode SERVFAIL", "services of home: DNS SERVFAIL; NTP ahead by -2h0m0s, gains 0 ppm\n",
			world.Services{NTP: gateway.NTPBehaviour{Offset: -2 * time.Hour}, DNS: gateway.DNSBehaviour{Rcode: "SERVFAIL"}},
		},
		{"heal home", "home healed\n", world.Services{}},
	}

	for _, tt := range tests {
		said, err := runNet(t, dir, strings.Fields(tt.args)...)
		if err != nil || said != tt.said {
			t.Errorf("%s: got %q, %v, want %q", tt.args, said, err, tt.said)
		}

		if d := gocmp.Diff(tt.want, f.services["home"], compareAddr); d != "" {
			t.Errorf("%s: services (-want +got):\n%s", tt.args, d)
		}
	}
}

func TestNetCards(t *testing.T) {
	f, dir := startFake(t)

	for _, args := range []string{"unplug worker-1/1", "plug worker-1/storage"} {
		said, err := runNet(t, dir, strings.Fields(args)...)
		if err != nil || !strings.HasPrefix(said, "card 1 of demo-worker-1 (storage, 52:54:0a:07:02:02) ") {
			t.Errorf("%s: got %q, %v", args, said, err)
		}
	}

	if d := gocmp.Diff([]string{"demo-worker-1 1 unplugged true", "demo-worker-1 1 unplugged false"}, f.cards); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	if said, err := runNet(t, dir, "block-udp", "home"); err != nil || said != "home-router: UDP is blocked\n" {
		t.Errorf("got %q, %v", said, err)
	}
}

func TestNetCapture(t *testing.T) {
	f, dir := startFake(t)
	file := filepath.Join(t.TempDir(), "a.pcapng")

	said, err := runNet(t, dir, "capture", "worker-1", "--for", "100ms", "-o", file)
	if want := "7 B of packets in " + file + "\n"; err != nil || said != want {
		t.Errorf("got %q, %v, want %q", said, err, want)
	}

	if got, err := os.ReadFile(file); err != nil || string(got) != "packets" {
		t.Errorf("got %q, %v, want the packets", got, err)
	}

	if d := gocmp.Diff([]string{"demo-worker-1"}, f.captured); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	if said, err := runNet(t, dir, "capture", "--for", "100ms", "-o", "-"); err != nil || said != "packets" {
		t.Errorf("to the standard output: got %q, %v, want the packets alone", said, err)
	}
}

func TestNetRefuses(t *testing.T) {
	fake, dir := startFake(t)

	const names = "there is demo-controlplane-1, demo-worker-1, demo-worker-2, home-router, internet, home, storage, gateway"

	tests := []struct{ args, want string }{
		{"delay unknown 1s", `"unknown": ` + names},
		{"delay worker-1/9 1s", `demo-worker-1 has no card "9": there is demo-worker-1/home, demo-worker-1/storage`},
		{"delay worker-1 much", `delay "much"`},
		{"delay worker-1 -- -1s", "neither may be negative"},
		{"delay worker-1 1s --direction up", `--direction "up"`},
		{"loss worker-1 101%", "percentage from 0 to 100"},
		{"bandwidth worker-1 fast", `bandwidth "fast"`},
		{"bandwidth worker-1 10kB", `bandwidth "10kB"`},
		{"bandwidth worker-1 1000000Ebit", `bandwidth "1000000Ebit"`},
		{"nat site-1 symmetric --none", "--none: a router without NAT"},
		{"mtu worker-1 -- -3", `MTU "-3"`},
		{"cut", "accepts 1 arg"},
		{"partition worker-1", "at least 2"},
		{"partition worker-1 worker-1", "two groups"},
		{"partition worker-1 unknown", names},
		{"partition controlplane-1 worker-2", "no common network"},
		{"partition worker-1 worker-2 controlplane-1", "no common network"},
		{"nat unknown symmetric", `there is no router "unknown": there is home-router`},
		{"nat home cone", `kind "cone": want full-cone`},
		{"nat home --mapping x", `mapping "x"`},
		{"nat home/storage symmetric", "home-router/home, home-router/internet"},
		{"dhcp nowhere --silent", `no network "nowhere": it has [internet home storage]`},
		{"ntp home --stratum 77", "stratum 77"},
		{"plug worker-1", "want MACHINE/NUMBER"},
		{"plug home-router/home", "want MACHINE/NUMBER"},
		{"heal unknown", names},
		{"capture unknown -o -", names},
		{"capture", "output"},
	}

	for _, tt := range tests {
		if said, err := runNet(t, dir, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %q, %v, want an error with %q", tt.args, said, err, tt.want)
		}
	}

	if len(fake.paths) > 0 {
		t.Errorf("groups that cannot be parted were in part: %v", fake.paths)
	}
}

// A capture that cannot begin leaves the file of an earlier one as it is.
func TestNetCaptureKeepsFiles(t *testing.T) {
	_, dir := startFake(t)

	file := filepath.Join(t.TempDir(), "before.pcapng")
	if err := os.WriteFile(file, []byte("packets"), 0o600); err != nil {
		t.Fatal(err)
	}

	if said, err := runNet(t, dir, "capture", "unknown", "-o", file); err == nil {
		t.Errorf("got %q and no error", said)
	}

	if text, err := os.ReadFile(file); err != nil || string(text) != "packets" {
		t.Errorf("got %q, %v, want the file as it was", text, err)
	}
}

func TestNetCompletion(t *testing.T) {
	_, dir := startFake(t)

	tests := []struct {
		args string
		want []string
	}{
		{"delay ", []string{"demo-controlplane-1", "demo-worker-1", "demo-worker-2", "home-router", "internet", "home", "storage", "gateway"}},
		{"plug ", []string{"demo-controlplane-1/0", "demo-worker-1/0", "demo-worker-1/1", "demo-worker-2/0"}},
		{"nat ", []string{"home-router"}},
		{"nat home-router ", []string{"full-cone", "restricted", "port-restricted", "symmetric"}},
		{"dhcp ", []string{"internet", "home", "storage"}},
	}

	for _, tt := range tests {
		args := append([]string{"__complete", "net", "--state", dir, "--name", "demo"}, strings.Split(tt.args, " ")...)

		said, err := run(t, args...)
		if want := strings.Join(tt.want, "\n") + "\n:4\n"; err != nil || !strings.HasPrefix(said, want) {
			t.Errorf("%s: got %q, %v, want %q", tt.args, said, err, want)
		}
	}
}
