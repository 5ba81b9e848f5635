// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// Whatever the cards, the configuration and the events: after convergence nothing is written to the kernel, or tried, and each wanted spec
// has a condition.
func TestQuietAfterConvergence(t *testing.T) {
	const parts = 4 // at the same time

	worlds := uint64(1000)
	if testing.Short() {
		worlds = 50
	}

	var made, calls, loud, specs atomic.Int64

	t.Run("worlds", func(t *testing.T) {
		for part := range uint64(parts) {
			t.Run(fmt.Sprintf("part %d", part), func(t *testing.T) {
				t.Parallel()

				noisy := 0

				for seed := part; seed < worlds; seed += parts {
					end := settled(t, seed)

					made.Add(1)
					calls.Add(int64(end.before))
					loud.Add(int64(end.writes))
					specs.Add(int64(end.specs))

					if end.writes > 0 {
						noisy++
					}

					if noisy > 3 {
						t.Fatal("and so on")
					}
				}
			})
		}
	})

	t.Logf("%d random configurations with two to four cards, %d addresses and routes wanted, %d writes to the kernel until convergence; "+
		"writes in 5 quiet minutes: %d", made.Load(), specs.Load(), calls.Load(), loud.Load())
}

// rest is the state of a machine after convergence.
type rest struct {
	before, writes int // calls that change the kernel, until convergence and afterwards
	specs          int
}

// settled runs a machine in a world, and returns what is written to the kernel at the end.
func settled(t *testing.T, seed uint64) (end rest) {
	t.Helper()

	w := newWorld(seed)

	inWorld(t, w, func(m *machine) {
		m.boot([]string{"", "ip=10.0.0.7::10.0.0.1:24", "ip=eth1:dhcp"}[w.IntN(3)])
		time.Sleep(time.Duration(w.IntN(3)) * time.Second)
		m.configure(w.configuration())

		for range w.IntN(4) {
			time.Sleep(time.Duration(w.IntN(3000)) * time.Millisecond)
			w.event()
		}

		if w.IntN(2) == 0 {
			m.configure(w.configuration())
		}

		time.Sleep(30 * time.Second) // convergence, and the window in which a fight is noticed
		synctest.Wait()

		end.before = len(w.kernel.Calls())

		time.Sleep(5 * time.Minute)
		synctest.Wait()

		calls := w.kernel.Calls()[end.before:]
		if end.writes = len(calls); end.writes > 0 {
			t.Errorf("seed %d: %d writes to the kernel in quiet minutes:\n%s", seed, len(calls), strings.Join(calls[:min(len(calls), 8)], "\n"))
		}

		end.specs = checkConditions(t, m, seed)
	})

	return end
}

// checkConditions checks that each applied spec is in the kernel, and that each other spec has a cause. It returns their numbers.
func checkConditions(t *testing.T, m *machine, seed uint64) (specs int) {
	t.Helper()

	routes, _ := m.kernel.Routes()
	addresses, _ := m.kernel.Addresses()

	condition := func(kind, id string) network.SpecConditionSpec {
		c, err := typed.Get[network.SpecConditionSpec](context.Background(), m.state, "", network.SpecConditionID(kind, id))
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)

			return network.SpecConditionSpec{State: network.SpecRefused, Cause: "none"}
		}

		if c.TypedSpec().State != network.SpecApplied && c.TypedSpec().Cause == "" {
			t.Errorf("seed %d: %s %s is %s without a cause", seed, kind, id, c.TypedSpec().State)
		}

		return *c.TypedSpec()
	}

	wantedAddresses, err := typed.List[network.AddressSpecSpec](context.Background(), m.state, "")
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range wantedAddresses {
		id := a.Metadata().ID()
		there := slices.ContainsFunc(addresses, func(have netlink.Address) bool { return have.Prefix == a.TypedSpec().Address })

		if c := condition(network.ConditionAddress, id); c.State == network.SpecApplied && !there {
			t.Errorf("seed %d: address %s is applied, and the kernel has %v", seed, id, addresses)
		}
	}

	wantedRoutes, err := typed.List[network.RouteSpecSpec](context.Background(), m.state, "")
	if err != nil {
		t.Fatal(err)
	}

	applied := 0

	for _, r := range wantedRoutes {
		id, spec := r.Metadata().ID(), r.TypedSpec()
		there := slices.ContainsFunc(routes, func(have netlink.Route) bool {
			return have.Destination == spec.Destination && have.Gateway == spec.Gateway && have.Priority >= spec.Priority
		})

		c := condition(network.ConditionRoute, id)
		if strings.HasSuffix(c.Cause, keptUntilThen) {
			applied++ // and there may be more than one
		}

		if c.State == network.SpecApplied {
			applied++

			if !there {
				t.Errorf("seed %d: route %s is applied, and the kernel has %v", seed, id, routes)
			}
		}
	}

	// What DHCP or the configuration created and is not wanted is stale.
	made := slices.DeleteFunc(routes, func(r netlink.Route) bool { return r.Protocol != 4 && r.Protocol != 16 })
	if len(made) > applied {
		t.Errorf("seed %d: the kernel has %d routes of ours, and %d are applied: %v", seed, len(made), applied, made)
	}

	return len(wantedAddresses) + len(wantedRoutes)
}
