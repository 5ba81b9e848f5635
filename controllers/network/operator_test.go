// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/resources/network"
)

// A lease is also renewed after the controller failed and was restarted.
func TestLeaseOutlivesAFailure(t *testing.T) {
	var broken atomic.Bool

	w := pair()
	w.kernel.Fail = func(operation string) error {
		if broken.Load() && operation == "Links" {
			return errBroken
		}

		return nil
	}

	inWorld(t, w, func(m *machine) {
		m.boot("")
		await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)
		await[network.AddressStatusSpec](m, "", "eth1/172.30.0.2/24", nil)

		broken.Store(true)
		w.kernel.Carrier(w.index("eth0"), false)
		time.Sleep(time.Minute)
		synctest.Wait()
		broken.Store(false)
		w.kernel.Carrier(w.index("eth0"), true)
		time.Sleep(5 * time.Minute)
		synctest.Wait()

		before := w.count(&w.asked)

		time.Sleep(2*time.Hour + 10*time.Minute)
		synctest.Wait()

		if n := w.count(&w.asked) - before; n != 4 {
			t.Errorf("got %d renewals of two leases in two hours, want 4", n)
		}
	})
}

// An operator that cannot be started has a condition, and blocks no other.
func TestOperatorRefused(t *testing.T) {
	w := pair()

	inWorld(t, w, func(m *machine) {
		m.boot("")
		m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n" +
			"      - {interface: eth0, dhcp: true, dhcpOptions: {ipv6: true, duidv6: no-hex}}\n      - {interface: eth1, dhcp: true}\n")

		await(m, "", "operator/dhcp6/eth0", func(s network.SpecConditionSpec) bool {
			return s.State == network.SpecRefused && strings.Contains(s.Cause, "client identifier")
		})
		await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)
		await[network.AddressStatusSpec](m, "", "eth1/172.30.0.2/24", nil)
	})
}

// TestOperatorPanics: a packet that makes a client panic ends neither the process nor the lease, and no other client.
func TestOperatorPanics(t *testing.T) {
	w := pair()

	inWorld(t, w, func(m *machine) {
		w.panics = 3

		m.boot("")
		await(m, "", "operator/dhcp4/eth0", func(s network.SpecConditionSpec) bool { return strings.Contains(s.Cause, "panicked") })
		time.Sleep(3 * afterPanic)
		synctest.Wait()
		await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)
		await[network.AddressStatusSpec](m, "", "eth1/172.30.0.2/24", nil)

		w.mu.Lock()
		w.panics = 2
		w.mu.Unlock()

		time.Sleep(time.Hour + 20*time.Second) // both are renewed
		synctest.Wait()

		w.mu.Lock()
		if w.panics > 0 {
			t.Error("no server was asked")
		}
		w.mu.Unlock()

		await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)
		await[network.AddressStatusSpec](m, "", "eth1/172.30.0.2/24", nil)

		before := w.count(&w.asked)

		time.Sleep(2*time.Hour + 10*time.Minute)
		synctest.Wait()

		if n := w.count(&w.asked) - before; n < 4 {
			t.Errorf("got %d renewals of two leases in two hours, want 4", n)
		}
	})
}
