// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/router"
	"github.com/seed-59268b81/talos/lab/world"
)

func newLab(t *testing.T) *Lab {
	return &Lab{
		Dir: filepath.Join(t.TempDir(), "demo"), Name: "demo", Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Domain: "demo.lab.internal", LeaseTime: time.Hour, Seed: 7,
		World: world.World{
			Networks: []world.Network{
				{
					Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24"), Gateway4: netip.MustParseAddr("10.5.0.1"), MTU: 1500, Offline: true,
					Services: world.Services{
						Cloud: "aws", DHCP: gateway.DHCPBehaviour{Addr: netip.MustParseAddr("10.5.0.9"), HostNames: []string{"a", "yes"}},
						NTP: gateway.NTPBehaviour{Offset: -time.Hour, Drift: 0.0001}, SecondDHCP: &gateway.DHCPBehaviour{RefuseRequests: true},
					},
				},
				{Name: "six", Subnet6: netip.MustParsePrefix("fd00::/64"), Gateway6: netip.MustParseAddr("fd00::1"), MTU: 1280, Router: "r"},
			},
			Routers: []world.Router{{
				Name: "r",
				Legs: []world.Leg{
					{Network: "six", Addr6: netip.MustParseAddr("fd00::fffe")},
					{
						Network: "lab", Addr4: netip.MustParseAddr("10.5.0.254"), MTU: 1400, Setting: world.Setting{
							BlockUDP: true, NAT: &nat.Config{Mapping: nat.AddressDependent, UDPTimeout: time.Minute, Seed: 1<<64 - 1},
						},
					},
				},
				Routes: []router.Route{{Destination: netip.MustParsePrefix("::/0"), Gateway: netip.MustParseAddr("fd00::1"), Leg: "six"}},
			}},
		},
		Machine: Machine{QEMU: "/usr/bin/qemu", Firmware: &qemu.Firmware{Code: "c", Vars: "v"}},
		Nodes: []Node{{
			Name: "demo-controlplane-1", Role: ControlPlane, Addr: netip.MustParseAddr("10.5.0.2"),
			Cards: []world.Card{
				{Network: "lab", MAC: "52:54:00:00:00:02", Addr4: netip.MustParseAddr("10.5.0.2")},
				{Network: "six", MAC: "52:54:00:00:00:03", Addr6: netip.MustParseAddr("fd00::2"), Unplugged: true},
			},
			CPUs: 2, MemoryMiB: 4096, DiskGiB: 10, APIPort: 50000, KubernetesPort: 6443,
		}},
	}
}

func TestSaveAndLoad(t *testing.T) {
	want := newLab(t)
	if err := want.Create(); err != nil {
		t.Fatal(err)
	}

	got, err := Load(want.Dir)
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	if err := want.Create(); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second lab in the same place: got %v, want %v", err, os.ErrExist)
	}
}

func TestLoadComplains(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); !errors.Is(err, ErrNone) {
		t.Errorf("empty directory: got %v, want %v", err, ErrNone)
	}

	for _, tt := range []struct{ text, want string }{
		{"name: [", "state.yaml"},
		{"nmae: x\n", "nmae"},
		{"name: x\n", "damaged"},
		{"network: {subnet: nonsense}\n", "nonsense"},
		{"network: {subnet: 10.5.0.0/24, colour: red}\n", "colour"},
		{"name: x\nworld: {networks: [{name: lab, subnet4: nonsense}]}\n", "nonsense"},
		{"name: x\nworld: {networks: [{name: lab, colour: red}]}\n", "colour"},
		{"name: x\nworld: {networks: [{name: lab}]}\nnodes: [{name: a}]\n", `network "lab" has no subnet`},
		{"name: x\nworld: {networks: [{name: lab, subnet4: 10.5.0.0/24}]}\nnodes: [{name: a, cards: [{network: far}]}]\n", `network "far"`},
		{"name: x\nworld: {networks: [{name: lab, subnet4: 10.5.0.0/24}]}\nnodes: [{name: a, cards: [{mtu: 1}]}]\n", "mtu"},
		{"name: x\nworld: {networks: [{name: lab, subnet4: 10.5.0.0/24}]}\nnodes: [{name: a}]\n", "node a has no card"},
		{"name: x\nworld: {networks: [{name: lab, subnet4: 10.5.0.0/24}]}\nnodes: [{name: a, cards: [{network: lab, mac: x}]}]\n", `address "x"`},
		{
			"name: x\nworld: {networks: [{name: lab, subnet4: 10.5.0.0/24}], routers: [{name: r, legs: [{network: far}]}]}\n" +
				"nodes: [{name: a, cards: [{network: lab, mac: '52:54:00:00:00:02'}]}]\n",
			`router r is on network "far"`,
		},
		{"", "state.yaml"},
	} {
		if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}

		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want it to name %q", tt.text, err, tt.want)
		}
	}
}

// TestLoadOlder reads the state of a lab in the format without several networks.
func TestLoadOlder(t *testing.T) {
	text, err := os.ReadFile("testdata/older.yaml")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, stateFile), text, 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}

	addr := netip.MustParseAddr
	want := &Lab{
		Dir: dir, Name: "demo", Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Domain: "demo.lab.internal", LeaseTime: time.Hour, Seed: 7,
		World: world.World{Networks: []world.Network{
			{Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24"), Gateway4: addr("10.5.0.1"), MTU: 1500, Offline: true},
		}},
		Machine: Machine{QEMU: "/usr/bin/qemu", Firmware: &qemu.Firmware{Code: "c", Vars: "v"}},
		Nodes: []Node{{
			Name: "demo-controlplane-1", Role: ControlPlane, Addr: addr("10.5.0.2"),
			Cards: []world.Card{{Network: "lab", MAC: "52:54:00:00:00:02", Addr4: addr("10.5.0.2")}},
			CPUs:  2, MemoryMiB: 4096, DiskGiB: 10, APIPort: 50000, KubernetesPort: 6443,
		}},
		Supervisor: &Process{PID: 7, Start: 8, Boot: "b"},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	if err := got.Save(); err != nil {
		t.Fatal(err)
	}

	again, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(want, again, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Errorf("saved and loaded (-want +got):\n%s", d)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: demo\nworld: {networks: [{name: lab, subnet4: 10.5.0.0/24}]}\nnodes: [{name: a, cards: [{network: lab}]}]\n"))
	f.Add([]byte("name: demo\nnetwork: {subnet: 10.5.0.0/24}\nnodes: [{name: a, address: 10.5.0.2}]\n"))

	f.Fuzz(func(t *testing.T, text []byte) {
		var l Lab
		if l.decode(text) == nil && l.Name == "" {
			t.Fatal("a lab without a name was accepted")
		}
	})
}

func TestRemoveLeavesWhatIsNotTheLabs(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		l := newLab(t)
		if err := l.Create(); err != nil {
			t.Fatal(err)
		}

		if err := os.MkdirAll(l.NodeDir("demo-controlplane-1"), 0o700); err != nil {
			t.Fatal(err)
		}

		if foreign {
			if err := os.WriteFile(filepath.Join(l.Dir, "notes"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}

		if err := l.Remove(); err != nil {
			t.Fatal(err)
		}

		left, err := os.ReadDir(l.Dir)
		if foreign && (err != nil || len(left) != 1) || !foreign && !os.IsNotExist(err) {
			t.Errorf("with a foreign file %v: %v is left, %v", foreign, left, err)
		}
	}
}

func TestCondition(t *testing.T) {
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name    string
		process *Process
		want    Condition
		explain string
	}{
		{"alive", self, Running, "running"},
		{"stopped", nil, Stopped, "cluster reboot"},
		{"another process has the number", &Process{PID: self.PID, Start: self.Start + 1, Boot: self.Boot}, Crashed, "crashed, see"},
		{"no such process", &Process{PID: 1 << 22, Start: 1, Boot: self.Boot}, Crashed, "crashed, see"},
		{"before a reboot", &Process{PID: self.PID, Start: self.Start, Boot: "other"}, Crashed, "was rebooted"},
	}

	for _, tt := range tests {
		l := newLab(t)
		l.Supervisor = tt.process

		if got := l.Condition(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}

		if got := l.Explain(); !strings.Contains(got, tt.explain) {
			t.Errorf("%s: got %q, want it to hold %q", tt.name, got, tt.explain)
		}
	}
}

func TestKillOnlyTheProcessMeant(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	p, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}

	other := *p
	other.Start++

	if err := other.Kill(); err != nil || !p.Alive() {
		t.Fatalf("another process with the same PID: got %v, alive %v", err, p.Alive())
	}

	if err := p.Kill(); err != nil { // a zombie counts as ended
		t.Fatal(err)
	}

	if err := cmd.Wait(); err == nil {
		t.Error("the process ended by itself")
	}

	if err := p.Kill(); err != nil {
		t.Errorf("the process has ended: got %v", err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20"))
	f.Add([]byte("42 (a"))

	f.Fuzz(func(t *testing.T, text []byte) { _, _ = parseStat(text) })
}

func TestParseStat(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       stat
	}{
		{"ended", "42 (a) b) Z 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 1 21 777 23", stat{dead: true, start: 777}},
		{"threads are left", "42 (a) b) Z 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 12 21 777 23", stat{start: 777}},
		{"running", "42 (a) b) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 1 21 777 23", stat{start: 777}},
	} {
		if got, err := parseStat([]byte(tt.text)); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}
