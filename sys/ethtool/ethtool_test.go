// SPDX-License-Identifier: Apache-2.0

package ethtool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/ethtool"
	"github.com/seed-59268b81/talos/sys/ethtool/ethtooltest"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
)

const feature = "tx-tcp-segmentation"

func wake(v uint32) *uint32 { return &v }

func TestSettings(t *testing.T) {
	have := ethtool.Settings{
		Rings: map[string]uint32{"rx": 256, "tx": 256}, Channels: map[string]uint32{"combined": 1}, Features: map[string]bool{"a": true, "b": false}, Wake: wake(0),
	}
	want := ethtool.Settings{Rings: map[string]uint32{"rx": 512, "tx": 256}, Features: map[string]bool{"b": true}, Wake: wake(32)}

	for name, test := range map[string]struct{ got, want ethtool.Settings }{
		"difference":         {ethtool.Difference(have, want), ethtool.Settings{Rings: map[string]uint32{"rx": 512}, Features: map[string]bool{"b": true}, Wake: wake(32)}},
		"no difference":      {ethtool.Difference(have, have), ethtool.Settings{}},
		"what was before":    {have.Same(want), ethtool.Settings{Rings: map[string]uint32{"rx": 256, "tx": 256}, Features: map[string]bool{"b": false}, Wake: wake(0)}},
		"one over the other": {want.Over(have), ethtool.Settings{Rings: map[string]uint32{"rx": 512, "tx": 256}, Channels: map[string]uint32{"combined": 1}, Features: map[string]bool{"a": true, "b": true}, Wake: wake(32)}},
		"an absent setting":  {ethtool.Difference(ethtool.Settings{}, want), want},
	} {
		if diff := cmp.Diff(test.want, test.got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFake(t *testing.T) {
	cards := &ethtooltest.Cards{}
	cards.Plug("va", ethtool.Settings{
		Channels: map[string]uint32{"rx": 1, "rx-max": 1, "tx": 1, "tx-max": 1}, Features: map[string]bool{feature: true, "netns-local": false, "loopback": false},
		Fixed: map[string]bool{"loopback": true},
	})

	suite(t, cards)
}

// TestKernel uses a pair of virtual links, which have features and channels.
func TestKernel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k, err := netlink.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()

	if err := k.CreateLink(netlink.NewLink{Name: "va", Kind: "veth", VethPeer: "vb"}); err != nil {
		t.Skipf("no veth: %v", err)
	}

	c, err := ethtool.Open()
	if err != nil {
		t.Skip(err)
	}
	defer c.Close()

	suite(t, c)
}

// suite is what a veth has, on the kernel and on the fake.
func suite(t *testing.T, cards ethtool.Cards) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	changed, done := make(chan struct{}, 100), make(chan error, 1)

	go func() { done <- cards.Watch(ctx, func() { changed <- struct{}{} }) }()

	defer func() {
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
	}()

	await := func() {
		t.Helper()

		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("no change is reported")
		}
	}

	await() // at first

	s, err := cards.Read("va")
	if err != nil {
		t.Fatal(err)
	}

	if on, ok := s.Features[feature]; !ok || !on || s.Fixed[feature] || !s.Fixed["loopback"] || s.Channels["rx"] != 1 || s.Channels["rx-max"] == 0 || s.Wake != nil ||
		len(s.OurModes)+len(s.PeerModes) != 0 {
		t.Errorf("got %+v", s)
	}

	if err := cards.Set("va", ethtool.Settings{Features: map[string]bool{feature: false}}); err != nil {
		t.Fatal(err)
	}

	await()

	after, err := cards.Read("va")
	if err != nil || after.Features[feature] {
		t.Errorf("got %+v, %v, want the feature off", after.Features[feature], err)
	}

	// A fixed feature stays, without an error.
	if err := cards.Set("va", ethtool.Settings{Features: map[string]bool{"loopback": true}}); err != nil {
		t.Errorf("a fixed feature: got %v, want no error", err)
	}

	if after, err = cards.Read("va"); err != nil || after.Features["loopback"] {
		t.Errorf("a fixed feature: got %t, %v, want it off", after.Features["loopback"], err)
	}

	for name, change := range map[string]ethtool.Settings{
		"an unknown feature": {Features: map[string]bool{"nonsense": true}},
		"rings":              {Rings: map[string]uint32{"rx-mini": 7}},
		"too many channels":  {Channels: map[string]uint32{"rx": 10_000}},
		"wake-on-LAN":        {Wake: wake(32)},
	} {
		if err := cards.Set("va", change); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}

	if _, err := cards.Read("none"); !errors.Is(err, unix.ENODEV) {
		t.Errorf("a missing link: got %v, want ENODEV", err)
	}
}
