// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

func validOptions(t *testing.T) Options {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}

	return Options{
		Name: "demo", StateDir: t.TempDir(), ControlPlanes: 2, Workers: 1, QEMU: file,
		Image: Image{Disk: file, Firmware: &qemu.Firmware{Code: file, Vars: file}},
	}
}

func TestBIOS(t *testing.T) {
	o := validOptions(t)
	o.Image.BIOS = true

	lab, err := o.Plan()
	if err != nil || lab.Machine.Firmware != nil {
		t.Errorf("got firmware %+v, %v", lab.Machine.Firmware, err)
	}
}

func TestPlan(t *testing.T) {
	o := validOptions(t)
	o.Worker.CPUs = 8
	o.ExtraDisks = []int{1, 5}
	o.Subnet = netip.MustParsePrefix("10.9.1.77/28")

	lab, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}

	card := func(addr, mac string) []world.Card {
		return []world.Card{{Network: "lab", MAC: mac, Addr4: netip.MustParseAddr(addr)}}
	}
	want := []state.Node{
		{Name: "demo-controlplane-1", Role: "controlplane", Provisioner: state.QEMU, Addr: netip.MustParseAddr("10.9.1.66"), Cards: card("10.9.1.66", "52:54:0a:09:01:42"), CPUs: 2, MemoryMiB: 4096, DiskGiB: 10, ExtraDisksGiB: []int{1, 5}},
		{Name: "demo-controlplane-2", Role: "controlplane", Provisioner: state.QEMU, Addr: netip.MustParseAddr("10.9.1.67"), Cards: card("10.9.1.67", "52:54:0a:09:01:43"), CPUs: 2, MemoryMiB: 4096, DiskGiB: 10, ExtraDisksGiB: []int{1, 5}},
		{Name: "demo-worker-1", Role: "worker", Provisioner: state.QEMU, Addr: netip.MustParseAddr("10.9.1.68"), Cards: card("10.9.1.68", "52:54:0a:09:01:44"), CPUs: 8, MemoryMiB: 2048, DiskGiB: 10, ExtraDisksGiB: []int{1, 5}},
	}
	if d := cmp.Diff(want, lab.Nodes, cmpopts.IgnoreFields(state.Node{}, "UUID"), cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Errorf("nodes (-want +got):\n%s", d)
	}

	if got, want := lab.World.Networks[0].Gateway4, netip.MustParseAddr("10.9.1.65"); got != want {
		t.Errorf("got gateway %v, want %v", got, want)
	}
}

// TestPlanKubernetes checks where Kubernetes is reached: at the gateway's load balancer if there are several control planes.
func TestPlanKubernetes(t *testing.T) {
	for name, tt := range map[string]struct {
		controlPlanes int
		subnet6       string // instead of IPv4
		want          string
	}{
		"one":           {1, "", "10.5.0.2"},
		"several":       {3, "", "10.5.0.1"},
		"several, IPv6": {3, "fd05::/64", "fd05::1"},
	} {
		o := validOptions(t)
		o.ControlPlanes = tt.controlPlanes

		if tt.subnet6 != "" {
			o.Subnet6 = netip.MustParsePrefix(tt.subnet6)
		}

		lab, err := o.Plan()
		if err != nil {
			t.Fatal(err)
		}

		if got := lab.KubernetesAddr().String(); got != tt.want || lab.Balanced() != (tt.controlPlanes > 1) {
			t.Errorf("%s: got %s, balanced %t, want %s", name, got, lab.Balanced(), tt.want)
		}
	}
}

// TestPlanOff checks that machines can stay off when the lab starts.
func TestPlanOff(t *testing.T) {
	o := validOptions(t)
	o.Off = []string{"demo-controlplane-2"}

	lab, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}

	for _, n := range lab.Nodes {
		if want := n.Name == "demo-controlplane-2"; n.Off != want {
			t.Errorf("%s: got off %t, want %t", n.Name, n.Off, want)
		}
	}

	o.Off = []string{"demo-controlplane-9"}

	if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), "demo-controlplane-9") {
		t.Errorf("a machine that does not exist: got %v, want it named", err)
	}
}

// TestPlanVirtual checks that of a role whose machines are containers some can be virtual.
func TestPlanVirtual(t *testing.T) {
	o := validOptions(t)
	o.Provisioner, o.WorkerProvisioner = state.Container, state.Container
	o.Virtual, o.Image.Root = []string{"demo-controlplane-2"}, o.Image.Disk

	lab, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}

	for _, n := range lab.Nodes {
		if got, want := n.As() == state.QEMU, n.Name == "demo-controlplane-2"; got != want {
			t.Errorf("%s: got virtual %t, want %t", n.Name, got, want)
		}
	}

	o.Virtual = []string{"demo-controlplane-9"}

	if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), "demo-controlplane-9") {
		t.Errorf("a machine that does not exist: got %v, want it named", err)
	}

	o.Virtual = []string{"demo-controlplane-2"}
	o.QEMU = "/no-such-qemu"

	if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), "no-such-qemu") {
		t.Errorf("without QEMU: got %v, want it named", err)
	}
}

// TestPlanCards checks that control planes are on the first network and workers on the sites in turn, unless they have
// cards of their own.
func TestPlanCards(t *testing.T) {
	o := validOptions(t)
	o.Workers, o.MTU, o.Offline = 3, 1400, true
	o.Sites = []world.Site{{Name: "home"}, {Name: "office"}}
	o.ExtraCards = []world.Card{{Network: "internet", Unplugged: true}}
	o.NodeCards = map[string][]world.Card{"demo-worker-3": {{Network: "office", MAC: "52:54:00:00:00:99"}}}

	lab, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string][]string{}

	for _, n := range lab.Nodes {
		for _, c := range n.Cards {
			got[n.Name] = append(got[n.Name], c.Network+" "+c.Addr4.String()+" "+c.MAC)
		}

		if n.Addr != n.Cards[0].Addr4 {
			t.Errorf("%s: got address %v, want that of its first card %v", n.Name, n.Addr, n.Cards[0].Addr4)
		}
	}

	want := map[string][]string{
		"demo-controlplane-1": {"internet 203.0.113.2 52:54:cb:00:71:02", "internet 203.0.113.3 52:54:cb:00:71:03"},
		"demo-controlplane-2": {"internet 203.0.113.4 52:54:cb:00:71:04", "internet 203.0.113.5 52:54:cb:00:71:05"},
		"demo-worker-1":       {"home 10.6.1.2 52:54:0a:06:01:02", "internet 203.0.113.6 52:54:cb:00:71:06"},
		"demo-worker-2":       {"office 10.6.2.2 52:54:0a:06:02:02", "internet 203.0.113.7 52:54:cb:00:71:07"},
		"demo-worker-3":       {"office 10.6.2.3 52:54:00:00:00:99"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("cards (-want +got):\n%s", d)
	}

	for _, n := range lab.World.Networks {
		if n.MTU != 1400 || !n.Offline {
			t.Errorf("network %s: got MTU %d, offline %v, want 1400 and offline", n.Name, n.MTU, n.Offline)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Options)
		want string
	}{
		{"no nodes", func(o *Options) { o.ControlPlanes, o.Workers = 0, 0 }, "at least one node"},
		{"fewer than none", func(o *Options) { o.Workers = -1 }, "at least one node"},
		{"a name that is not a host name", func(o *Options) { o.Name = "My_Lab" }, `"My_Lab"`},
		{"no directory", func(o *Options) { o.StateDir = "" }, "directory"},
		{"more nodes than addresses", func(o *Options) { o.Subnet, o.Workers = netip.MustParsePrefix("10.5.0.0/29"), 4 }, "no free address"},
		{"IPv6", func(o *Options) { o.Subnet = netip.MustParsePrefix("fd00::/64") }, "want IPv4"},
		{"a card on no network", func(o *Options) { o.WorkerCards = []world.Card{{Network: "storag"}} }, `machine demo-worker-1: card 0: there is no network "storag": there is lab`},
		{"cards for an unknown node", func(o *Options) { o.NodeCards = map[string][]world.Card{"demo-worker-9": nil} }, `"demo-worker-9": there is no such node`},
		{"a network of a machine's name", func(o *Options) { o.Sites = []world.Site{{Name: "demo-worker-1"}} }, `machine "demo-worker-1": network demo-worker-1 has that name`},
		{"negative size", func(o *Options) { o.Worker.MemoryMiB = -1 }, "negative"},
		{"a disk of nothing", func(o *Options) { o.ExtraDisks = []int{1, 0} }, "extra disk of 0 GiB"},
		{"tiny MTU", func(o *Options) { o.MTU = 100 }, "MTU 100"},
		{"no QEMU", func(o *Options) { o.QEMU = "no-such-qemu" }, "install QEMU"},
		{"nothing to boot", func(o *Options) { o.Image = Image{} }, "nothing to boot"},
		{"a disk without firmware", func(o *Options) { o.Image.Firmware = nil }, "UEFI"},
		{"no such image, by a BIOS", func(o *Options) { o.Image = Image{Disk: "/nonexistent/disk.raw", BIOS: true} }, "make build"},
		{"no such image", func(o *Options) { o.Image.Disk = "/nonexistent/disk.raw" }, "make build"},
	}

	for _, tt := range tests {
		o := validOptions(t)
		tt.edit(&o)

		if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want it to hold %q", tt.name, err, tt.want)
		}
	}
}
