// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// run runs the command and returns what it printed.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()

	var out bytes.Buffer

	cmd := Command()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args)

	err := cmd.ExecuteContext(t.Context())

	return out.String(), err
}

func TestCreateRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	good := []string{
		"create", "--state", t.TempDir(), "--name", "demo", "--qemu", "no-such-qemu",
		"--disk-image-path", file, "--firmware-code-path", file, "--firmware-vars-path", file,
	}

	tests := []struct {
		name string
		args []string
		want string
	}{
		{"all is well but QEMU", nil, "install QEMU"},
		{"no control plane", []string{"--controlplanes", "0"}, "--controlplanes 0"},
		{"memory that is not an amount", []string{"--memory", "lots"}, `--memory "lots"`},
		{"too little memory", []string{"--memory-workers", "12MiB"}, "at least 256 MiB"},
		{"memory under its other name", []string{"--memory-controlplanes", "lots"}, `--memory "lots"`},
		{"no CPU", []string{"--cpus-workers", "0"}, "--cpus-workers 0"},
		{"disk that is not an amount", []string{"--disk", "-1"}, `--disk "-1"`},
		{"network that is none", []string{"--cidr", "10.5.0.0"}, "--cidr"},
		{"patch that is none", []string{"--config-patch", "machine: {nonsense: 1}"}, "nonsense"},
		{"patch that is not there", []string{"--config-patch-workers", "@/nonexistent"}, "--config-patch-worker"},
		{"Kubernetes version that is none", []string{"--kubernetes-version", "latest"}, `"vlatest"`},
		{"image that is not there", []string{"--disk-image-path", "/nonexistent"}, "/nonexistent"},
		{"a BIOS, and no QEMU", []string{"--with-uefi=false"}, "--firmware-code-path has no effect: without UEFI"},
		{"half a firmware", []string{"--firmware-vars-path", ""}, "go together"},
		{"name that is none", []string{"--name", "My Lab"}, `"My Lab"`},
		{"provisioner that is none", []string{"--provisioner", "vmware"}, `provisioner "vmware": want qemu or container`},
		{"containers of no image", []string{"--provisioner", "docker", "--root-image-path", "/nonexistent"}, "/nonexistent"},
		{"workers of no image", []string{"--workers", "1", "--provisioner-workers", "container", "--root-image-path", "/nonexistent"}, "/nonexistent"},
		{"no card", []string{"--cards", "0"}, "--cards 0: want 1 to 8"},
		{"fewer sites than none", []string{"--sites", "-1"}, "--sites -1"},
		{"NAT that is none", []string{"--sites", "1", "--nat", "cone"}, `--nat "cone": want full-cone`},
		{"IPv6 with and without IPv4", []string{"--ipv6", "--ipv6-only"}, "want one of them"},
		{"NAT without sites", []string{"--nat", "symmetric"}, "--nat has no effect: without --sites"},
		{"a subnet with sites", []string{"--sites", "1", "--subnet", "10.9.0.0/24"}, "--cidr has no effect"},
		{"a subnet without IPv4", []string{"--ipv6-only", "--cidr", "10.9.0.0/24"}, "--cidr has no effect"},
		{"disks of containers", []string{"--provisioner", "docker", "--extra-disks", "1"}, "--extra-disks has no effect: containers"},
		{"sites with IPv6", []string{"--sites", "1", "--ipv6"}, "IPv4 alone"},
		{"injection that is none", []string{"--config-injection-method", "metal-iso"}, `"metal-iso": want api or http`},
		{"cloud that is none", []string{"--cloud", "nimbus"}, `"nimbus": want one of akamai`},
		{"cloud of containers", []string{"--provisioner", "docker", "--cloud", "aws"}, "--cloud has no effect: containers"},
		{"cloud behind a NAT", []string{"--sites", "1", "--cloud", "aws"}, "--cloud has no effect: metadata servers"},
		{"cloud without IPv4", []string{"--ipv6-only", "--cloud", "aws"}, "--cloud has no effect: the metadata"},
		{"cloud with another injection", []string{"--config-injection-method", "api", "--cloud", "aws"}, "--config-injection-method has no effect: with --cloud"},
		{"cloud without its user data", []string{"--config-injection-method", "http", "--cloud", "aws"}, "--cloud has no effect: with --config"},
		{"an injection that is skipped", []string{"--config-injection-method", "http", "--skip-injecting-config"}, "--config-injection-method has no effect"},
		{"an argument too many", []string{"qemu2"}, "qemu2"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := run(t, append(good[:len(good):len(good)], tt.args...)...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to hold %q", err, tt.want)
			}
		})
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]uint64{
		"4GiB": 4 << 30, "2.5GiB": 5 << 29, "2048": 2 << 30, "512MiB": 512 << 20, "1GB": 1e9,
	} {
		if got, err := bytesOf("--memory", text, 1); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Setenv(EnvState, "")
	t.Setenv("TALOS_HOME", "/home/me/.talos")

	tests := []struct {
		name string
		env  string
		args []string
		dir  string
		own  bool
	}{
		{"the user's own", "", nil, "/home/me/.talos/clusters/talos-default", false},
		{"named", "", []string{"--name", "a"}, "/home/me/.talos/clusters/a", false},
		{"in the flag's place", "", []string{"--state", "/labs", "--name", "a"}, "/labs/a", true},
		{"in the environment's place", "/env", nil, "/env/talos-default", true},
		{"the flag wins", "/env", []string{"--state", "/labs"}, "/labs/talos-default", true},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(EnvState, tt.env)

			var p place

			cmd := newShowCommand(&p)
			p.flags(cmd)

			if err := cmd.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}

			if dir, err := p.dir(); err != nil || dir != tt.dir || p.own() != tt.own {
				t.Errorf("got %s, %v, own %v, want %s, own %v", dir, err, p.own(), tt.dir, tt.own)
			}
		})
	}
}

func TestNoCluster(t *testing.T) {
	dir := t.TempDir()

	for _, command := range []string{"show", "logs", "reboot"} {
		if _, err := run(t, command, "--state", dir); !errors.Is(err, state.ErrNone) {
			t.Errorf("%s: got %v, want %v", command, err, state.ErrNone)
		}
	}

	if out, err := run(t, "destroy", "--state", dir); err != nil || !strings.Contains(out, "there is no lab") {
		t.Errorf("destroy: got %q, %v, want no error", out, err)
	}
}

// stopped returns a lab that does not run.
func stopped(t *testing.T) *lab.Lab {
	s := &state.Lab{
		Dir: filepath.Join(t.TempDir(), "demo"), Name: "demo", Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		World: world.World{Networks: []world.Network{{
			Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24"), Gateway4: netip.MustParseAddr("10.5.0.1"), MTU: 1500, Offline: true,
		}}},
	}
	for i, role := range []state.Role{state.ControlPlane, state.Worker} {
		s.Nodes = append(s.Nodes, state.Node{
			Name: fmt.Sprintf("demo-%s-1", role), Role: role, Addr: netip.AddrFrom4([4]byte{10, 5, 0, byte(2 + i)}),
			Cards: []world.Card{{Network: "lab", MAC: fmt.Sprintf("52:54:0a:05:00:%02x", 2+i)}},
			CPUs:  2, MemoryMiB: 4096, DiskGiB: 10, APIPort: 40001 + uint16(i), KubernetesPort: 40011 + uint16(i),
		})
	}

	if err := s.Create(); err != nil {
		t.Fatal(err)
	}

	l, err := lab.Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}

	return l
}

// cards is one with a link.
func cards(link netswitch.Link) []control.CardStatus {
	return []control.CardStatus{{LinkStatus: control.LinkStatus{Link: link}}}
}

func TestShow(t *testing.T) {
	l := stopped(t)
	l.Node(1).Provisioner = state.Container

	var out strings.Builder

	err := show(&out, l, &control.Status{
		Accel: "tcg", AccelWhy: "no hardware virtualization", Containers: "this computer's kernel, as root",
		Nodes: []control.NodeStatus{
			{Name: "demo-controlplane-1", Machine: machine.Status{Power: machine.On, Why: "switched on", Boots: 2}, Cards: cards(netswitch.Link{})},
			{
				Name: "demo-worker-1", Machine: machine.Status{Power: machine.Off, Why: "power cut", Boots: 1},
				Cards: cards(netswitch.Link{In: netswitch.Impairment{Delay: time.Second, Loss: 0.125}, Out: netswitch.Impairment{Cut: true}}),
			},
		},
		Paths: []control.PathFault{{Network: "lab", Path: netswitch.Path{From: "a", To: "b"}, Impairment: netswitch.Impairment{Cut: true}}},
	}, l.State().Created.Add(3*time.Hour))
	if err != nil {
		t.Fatal(err)
	}

	want := `CLUSTER      demo
CONDITION    lab demo is stopped: talosctl cluster reboot starts it, talosctl cluster destroy removes it
CREATED      3 hours ago
NETWORK      lab: 10.5.0.0/24, gateway 10.5.0.1, MTU 1500, offline
RUNS WITH    tcg: no hardware virtualization
CONTAINERS   this computer's kernel, as root
DIRECTORY    ` + l.State().Dir + `

NAME                  ROLE           RUNS AS     ADDRESS    CPUS   MEMORY    DISK     POWER   BOOTS   WHY           API               KUBERNETES        LINK
demo-controlplane-1   controlplane   qemu        10.5.0.2   2      4.0 GiB   10 GiB   on      2       switched on   127.0.0.1:40001   127.0.0.1:40011   good
demo-worker-1         worker         container   10.5.0.3   2      4.0 GiB   -        off     1       power cut     127.0.0.1:40002   -                 in: delay 1s±0s loss 12.5%, out: cut

PATH   a -> b: cut
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
