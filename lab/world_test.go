// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bytes"
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/world"
)

// TestWorld boots a machine on the internet and one on a site behind a NAT, both with a second card on a network of
// their own.
func TestWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("boots two machines")
	}

	small := lab.Size{CPUs: 1, MemoryMiB: 192}
	must := mustFor(t)

	l, err := lab.Create(t.Context(), lab.Options{
		Name: "demo", StateDir: t.TempDir(), ControlPlanes: 1, Workers: 1, Image: guestImage(t), Offline: true, Seed: 1,
		ControlPlane: small, Worker: small,
		Sites: []world.Site{{Name: "home", Subnet: netip.MustParsePrefix("192.168.7.0/24"), NAT: nat.Config{Mapping: nat.EndpointIndependent}}},
		Networks: []world.Network{
			{Name: "internet", Subnet4: netip.MustParsePrefix("203.0.113.0/24")},
			{Name: "storage", Subnet4: netip.MustParsePrefix("10.77.0.0/24"), Services: world.Services{DHCP: gateway.DHCPBehaviour{NoRouter: true}}},
		},
		ControlPlaneCards: []world.Card{{Network: "internet"}, {Network: "storage"}},
		WorkerCards:       []world.Card{{Network: "home"}, {Network: "storage", Unplugged: true}},
	})
	must(err)
	t.Cleanup(func() { must(l.Destroy(context.WithoutCancel(t.Context()))) })

	public, private := l.Node(0), l.Node(1)

	for _, n := range l.Nodes() {
		booted(t, n)
	}

	t.Run("NAT", func(t *testing.T) { testNAT(t, l, public, private) })
	t.Run("a card is plugged and unplugged", func(t *testing.T) { testCard(t, public, private) })
	t.Run("services", func(t *testing.T) { testServices(t, l, private) })
}

// ping returns a machine's result of a ping to an address.
func ping(t *testing.T, from *lab.Node, to netip.Addr) string {
	t.Helper()

	got, err := ask[string](t.Context(), from, "GET", "/ping?to="+to.String())
	if err != nil {
		t.Fatal(err)
	}

	return got
}

func testNAT(t *testing.T, l *lab.Lab, public, private *lab.Node) {
	must := mustFor(t)

	var (
		file    bytes.Buffer
		capture sync.WaitGroup
	)

	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})

	capture.Go(func() { must(l.Capture(ctx, &notifying{&file, begun, sync.Once{}}, public.Name)) })
	<-begun

	if got := ping(t, private, public.Addr); got != "ok" {
		t.Errorf("from behind the NAT to the internet: %s", got)
	}

	if got := ping(t, public, private.Addr); got == "ok" {
		t.Errorf("an address behind a NAT, from the internet: %s", got)
	}

	time.Sleep(100 * time.Millisecond) // until the last frames are written
	cancel()
	capture.Wait()

	router, _ := l.State().World.Router("home-router")
	leg, _ := router.Leg("internet")
	between := func(from, to netip.Addr) []byte { return append(from.AsSlice(), to.AsSlice()...) }

	if !bytes.Contains(file.Bytes(), between(leg.Addr4, public.Addr)) {
		t.Errorf("no packet from the NAT's address %v was captured, in %d bytes", leg.Addr4, file.Len())
	}

	if bytes.Contains(file.Bytes(), between(private.Addr, public.Addr)) {
		t.Errorf("a packet from %v passed the NAT untranslated", private.Addr)
	}

	must(l.EditRouter(t.Context(), "home-router/internet", func(s *world.Setting) { s.NAT = nil }))
	must(l.Partition(t.Context(), []string{"home-router"}, []string{public.Name}))

	if got := ping(t, private, public.Addr); got == "ok" {
		t.Error("a site reaches a machine that is partitioned from it")
	}

	must(l.Heal(t.Context()))

	if got := ping(t, private, public.Addr); got != "ok" {
		t.Errorf("after healing, with the NAT as it was: %s", got)
	}

	must(l.SetNAT(t.Context(), "home-router", nat.Config{Mapping: nat.AddressAndPortDependent}))

	status, err := l.Status(t.Context())
	must(err)

	if got := status.Routers[0].Legs[1].NAT; got == nil || got.Mapping != nat.AddressAndPortDependent {
		t.Errorf("got NAT %+v, want the one that was set", got)
	}
}

func testCard(t *testing.T, public, private *lab.Node) {
	must := mustFor(t)
	mac := private.Cards[1].MAC
	cards := func(want map[string]string) {
		t.Helper()

		var got map[string]string

		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			var err error
			if got, err = ask[map[string]string](t.Context(), private, "GET", "/cards"); err == nil && cmp.Equal(want, got) {
				return
			}
		}

		t.Errorf("cards (-want +got):\n%s", cmp.Diff(want, got))
	}
	one := map[string]string{private.Cards[0].MAC: "eth0"}
	two := map[string]string{private.Cards[0].MAC: "eth0", mac: "eth1"}

	cards(one)

	for range 2 { // unplug and plug the card
		must(private.Plug(t.Context(), 1))
		cards(two)

		got, err := ask[lease](t.Context(), private, "GET", "/cards/eth1/lease")
		if want := (lease{Addr: "10.77.0.3/24", Hostname: private.Name, DNS: "10.77.0.1", NTP: "10.77.0.1"}); err != nil || got != want {
			t.Errorf("lease of the second card: got %+v, %v, want %+v", got, err, want)
		}

		if _, err := ask[lease](t.Context(), public, "GET", "/cards/eth1/lease"); err != nil {
			t.Error(err)
		}

		if got := ping(t, private, public.Cards[1].Addr4); got != "ok" {
			t.Errorf("over the second network: %s", got)
		}

		must(private.Unplug(t.Context(), 1))
		cards(one)
	}

	must(private.Plug(t.Context(), 1))
	must(private.PowerCut(t.Context()))
	must(private.Unplug(t.Context(), 1))
	must(private.PowerOn(t.Context()))
	booted(t, private)
	cards(one)

	waitStatus(t, private, machine.Status{Power: machine.On, Why: "switched on", Boots: 2})
}

func testServices(t *testing.T, l *lab.Lab, private *lab.Node) {
	must := mustFor(t)
	clock := func() float64 {
		got, err := ask[look](t.Context(), private, "GET", "/look?peer="+private.Name)
		must(err)

		return got.ClockOffset
	}

	must(l.EditServices(t.Context(), "home", func(s *world.Services) { s.NTP.Offset = time.Hour }))

	if got := clock(); got < 3500 {
		t.Errorf("a clock that is an hour ahead: got an offset of %v s", got)
	}

	must(l.EditLink(t.Context(), private.Name, func(link *netswitch.Link) { link.In.Delay = time.Millisecond }))
	must(l.Heal(t.Context()))

	if got := clock(); got > 10 {
		t.Errorf("after healing: got an offset of %v s", got)
	}

	status, err := private.Status(t.Context())
	must(err)

	if d := cmp.Diff(netswitch.Link{}, status.Cards[0].Link, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("link after healing (-want +got):\n%s", d)
	}
}

// notifying signals the first write.
type notifying struct {
	*bytes.Buffer
	begun chan struct{}
	once  sync.Once
}

func (n *notifying) Write(b []byte) (int, error) {
	n.once.Do(func() { close(n.begun) })

	return n.Buffer.Write(b)
}
