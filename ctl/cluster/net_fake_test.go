// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// fakeLab is a running lab without machines: it remembers how its world is set.
type fakeLab struct {
	control.Lab // what a test has no use for

	state *state.Lab

	mu       sync.Mutex
	links    map[world.Port]netswitch.Link
	paths    map[world.Path]netswitch.Impairment
	services map[string]world.Services
	legs     map[world.Port]world.Setting
	cards    []string // what was done to them
	captured []string // the names of the last capture
}

// startFake runs a lab of one control plane on the internet and two workers, the
// first of which has two cards, on a site, and returns the directory to find it in.
func startFake(t *testing.T) (*fakeLab, string) {
	dir := t.TempDir()
	s := &state.Lab{Dir: filepath.Join(dir, "demo"), Name: "demo"}
	s.World.Add(world.Site{Name: "home", Subnet: netip.MustParsePrefix("10.6.1.0/24")})
	s.World.Networks = append(s.World.Networks, world.Network{
		Name: "storage", Subnet4: netip.MustParsePrefix("10.7.2.0/24"), Subnet6: netip.MustParsePrefix("fd00:7::/64"), Offline: true, MTU: 9000,
	})

	for name, cards := range map[string][]string{
		"demo-controlplane-1": {"internet"}, "demo-worker-1": {"home", "storage"}, "demo-worker-2": {"home"},
	} {
		node := state.Node{Name: name}
		for _, network := range cards {
			node.Cards = append(node.Cards, world.Card{Network: network})
		}

		s.Nodes = append(s.Nodes, node)
	}

	sortNodes(s)

	if err := s.World.Plan(s.Machines()); err != nil {
		t.Fatal(err)
	}

	for i := range s.Nodes {
		s.Nodes[i].Addr = s.Nodes[i].Cards[0].Addr()
	}

	var err error
	if s.Supervisor, err = state.Identify(os.Getpid()); err != nil {
		t.Fatal(err)
	}

	if err := s.Create(); err != nil {
		t.Fatal(err)
	}

	f := &fakeLab{state: s}
	_ = f.Heal()

	l, err := control.Listen(s.SocketPath())
	if err != nil {
		t.Fatal(err)
	}

	server := &http.Server{Handler: control.Handler(f)}
	go func() { _ = server.Serve(l) }()

	t.Cleanup(func() { _ = server.Close() })

	return f, dir
}

func (f *fakeLab) Heal() error {
	f.links, f.paths = map[world.Port]netswitch.Link{}, map[world.Path]netswitch.Impairment{}
	f.services, f.legs = map[string]world.Services{}, map[world.Port]world.Setting{}

	for _, n := range f.state.World.Networks {
		f.services[n.Name] = n.Services
	}

	for _, r := range f.state.World.Routers {
		for _, leg := range r.Legs {
			f.legs[world.Port{Network: leg.Network, Name: r.Name}] = leg.Setting
		}
	}

	return nil
}

func (f *fakeLab) Status() control.Status {
	f.mu.Lock()
	defer f.mu.Unlock()

	link := func(network, name string) control.LinkStatus {
		p := world.Port{Network: network, Name: name}

		return control.LinkStatus{Port: p, Link: f.links[p], Traffic: netswitch.Stats{SentBytes: 1 << 20, ReceivedBytes: 2 << 20, Lost: 3}}
	}

	status := control.Status{Name: f.state.Name}

	for _, n := range f.state.Nodes {
		node := control.NodeStatus{Name: n.Name, Machine: machine.Status{Power: machine.On}}
		for i, c := range n.Cards {
			node.Cards = append(node.Cards, control.CardStatus{LinkStatus: link(c.Network, world.CardPort(n.Name, i)), Unplugged: c.Unplugged})
		}

		status.Nodes = append(status.Nodes, node)
	}

	for _, n := range f.state.World.Networks {
		status.Networks = append(status.Networks, control.NetworkStatus{Name: n.Name, Services: f.services[n.Name], Gateway: link(n.Name, gateway.PortName)})
	}

	for _, r := range f.state.World.Routers {
		router := control.RouterStatus{Name: r.Name}
		for _, leg := range r.Legs {
			router.Legs = append(router.Legs, control.LegStatus{
				LinkStatus: link(leg.Network, r.Name), Setting: f.legs[world.Port{Network: leg.Network, Name: r.Name}],
			})
		}

		status.Routers = append(status.Routers, router)
	}

	for path, i := range f.paths {
		status.Paths = append(status.Paths, control.PathFault{Network: path.Network, Path: netswitch.Path{From: path.From, To: path.To}, Impairment: i})
	}

	return status
}

func (f *fakeLab) SetLink(name string, link netswitch.Link) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	if err := errors.Join(link.In.Validate(), link.Out.Validate()); err != nil {
		return err
	}

	ports, err := f.state.World.Find(f.state.Machines(), name)
	for _, p := range ports {
		f.links[p] = link
	}

	return err
}

func (f *fakeLab) SetPath(fault control.PathFault) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	paths, err := f.state.World.Paths(f.state.Machines(), fault.From, fault.To)
	for _, p := range paths {
		if f.paths[p] = fault.Impairment; fault.Impairment == (netswitch.Impairment{}) {
			delete(f.paths, p)
		}
	}

	return err
}

func (f *fakeLab) SetServices(network string, s world.Services) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.services[network] = s

	return s.Validate()
}

func (f *fakeLab) SetLeg(router, network string, s world.Setting) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.legs[world.Port{Network: network, Name: router}] = s

	if s.NAT != nil {
		return s.NAT.Validate()
	}

	return nil
}

func (f *fakeLab) SetCard(_ context.Context, node string, card int, unplugged bool) error {
	f.cards = append(f.cards, fmt.Sprint(node, " ", card, " unplugged ", unplugged))

	return nil
}

func (f *fakeLab) Capture(names []string) (func(context.Context, io.Writer) error, error) {
	f.captured = names

	for _, name := range names {
		if _, err := f.state.World.Find(f.state.Machines(), name); err != nil {
			return nil, err
		}
	}

	return func(ctx context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "packets")
		<-ctx.Done()

		return err
	}, nil
}

// natOf is the NAT of the site's router now.
func (f *fakeLab) natOf() *nat.Config {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.legs[world.Port{Network: world.Internet, Name: "home-router"}].NAT
}
