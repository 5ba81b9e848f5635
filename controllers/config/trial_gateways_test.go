// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// TestGateways holds when the gateways are asked, and what follows from their answers.
func TestGateways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			asked, changes atomic.Int64
			silent         atomic.Bool
			broken         atomic.Bool
		)

		g := &gateways{answers: func(context.Context, netip.Addr, string) (bool, error) {
			asked.Add(1)
			time.Sleep(3 * time.Second)

			if broken.Load() {
				return false, errors.New("EPERM")
			}

			return !silent.Load(), nil
		}}

		list := []gateway{{netip.MustParseAddr("192.0.2.1"), "eth0"}}
		log := slog.New(slog.DiscardHandler)
		follow := func(trial string, list []gateway) {
			g.follow(t.Context(), trial, list, func() { changes.Add(1) }, log)
			synctest.Wait()
		}
		is := func(met bool, why string) {
			t.Helper()

			if got := g.condition(); got.Met != met || got.Why != why {
				t.Errorf("got %t, %q, want %t, %q", got.Met, got.Why, met, why)
			}
		}

		follow("", nil)
		is(false, "there is no default route")

		follow("", []gateway{{link: "eth0"}}) // a route whose link reaches all directly
		is(true, "")

		follow("", list)
		is(true, "")

		if time.Sleep(time.Minute); asked.Load() > 0 {
			t.Error("the gateways are asked without a trial")
		}

		follow("t1", list)
		is(false, "it is being asked")

		time.Sleep(4 * time.Second)
		synctest.Wait()
		is(true, "")

		silent.Store(true)
		follow("t1", list)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		is(false, "192.0.2.1 on eth0 does not answer on its network")

		broken.Store(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		is(true, "")

		follow("t2", list)
		is(false, "it is being asked")

		broken.Store(false)
		follow("t3", []gateway{{link: "eth0"}})
		time.Sleep(4 * time.Second)
		synctest.Wait()
		is(true, "")

		follow("", list)

		n := asked.Load()
		if time.Sleep(time.Minute); asked.Load() != n || changes.Load() == 0 {
			t.Errorf("after the trial, the gateways are asked; %d changes were seen", changes.Load())
		}

		is(true, "")
	})
}

// TestFurtherConditions holds what is read from routes, volumes and controllers.
func TestFurtherConditions(t *testing.T) {
	route := func(gateway string, hops ...string) *resource.Typed[network.RouteStatusSpec] {
		r := resource.New[network.RouteStatusSpec]("", "r"+gateway)
		*r.TypedSpec() = network.RouteStatusSpec{Type: nethelpers.TypeUnicast, Table: nethelpers.TableMain, OutLinkName: "eth0"}

		if gateway != "" {
			r.TypedSpec().Gateway = netip.MustParseAddr(gateway)
		}

		for _, hop := range hops {
			r.TypedSpec().NextHops = append(r.TypedSpec().NextHops, network.RouteNextHop{Gateway: netip.MustParseAddr(hop), OutLinkName: "eth1"})
		}

		return r
	}

	other := route("192.0.2.9")
	other.TypedSpec().Destination = netip.MustParsePrefix("198.51.100.0/24")

	got := gatewaysOf([]*resource.Typed[network.RouteStatusSpec]{route("192.0.2.1"), route("192.0.2.1"), route("", "192.0.2.2"), other, route("")})
	if want := []gateway{{netip.MustParseAddr("192.0.2.1"), "eth0"}, {netip.MustParseAddr("192.0.2.2"), "eth1"}, {link: "eth0"}}; !slices.Equal(got, want) {
		t.Errorf("got gateways %v, want %v", got, want)
	}

	ready, waits := resource.New[block.VolumeStatusSpec]("", "STATE"), resource.New[block.VolumeStatusSpec]("", "EPHEMERAL")
	ready.TypedSpec().Phase, waits.TypedSpec().Phase = block.VolumePhaseReady, block.VolumePhaseWaiting

	if c := volumesCondition([]*resource.Typed[block.VolumeStatusSpec]{ready}); !c.Met {
		t.Errorf("got %+v", c)
	}

	if c := volumesCondition([]*resource.Typed[block.VolumeStatusSpec]{ready, waits}); c.Met || c.Why != "EPHEMERAL is waiting" {
		t.Errorf("got %+v", c)
	}

	fails := func(times uint32) *resource.Typed[meta.ControllerStatusSpec] {
		r := resource.New[meta.ControllerStatusSpec]("", "x.Controller")
		*r.TypedSpec() = meta.ControllerStatusSpec{Failures: times, Error: "EIO"}

		return r
	}

	if c := controllersCondition([]*resource.Typed[meta.ControllerStatusSpec]{fails(failuresInLoop - 1)}); !c.Met {
		t.Errorf("got %+v", c)
	}

	if c := controllersCondition([]*resource.Typed[meta.ControllerStatusSpec]{fails(failuresInLoop)}); c.Met || c.Kind != trial.OwnBefore || c.Why != "x.Controller fails again and again: EIO" {
		t.Errorf("got %+v", c)
	}

	away := resource.New[meta.ControllerStatusSpec]("", "y.Controller")
	*away.TypedSpec() = meta.ControllerStatusSpec{Failures: failuresInLoop, Error: "no route to host", Unreached: true}

	if c := controllersCondition([]*resource.Typed[meta.ControllerStatusSpec]{away, fails(failuresInLoop - 1)}); c.Met || c.Kind != trial.Cluster {
		t.Errorf("only another machine does not answer: got %+v, want a condition of the cluster", c)
	}

	if c := controllersCondition([]*resource.Typed[meta.ControllerStatusSpec]{away, fails(failuresInLoop)}); c.Met || c.Kind != trial.OwnBefore {
		t.Errorf("another fails by itself: got %+v, want a condition of the machine", c)
	}
}
