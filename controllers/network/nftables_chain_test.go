// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/nft"
	"github.com/seed-59268b81/talos/sys/nft/nfttest"
)

// TestFilterAbsent runs a machine whose packet filter comes from a module that is loaded late: a machine without rules does not wait for it.
func TestFilterAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		filter := &nfttest.Filter{}
		filter.Remove(true)

		m := &machine{t: t, patience: patience, state: memory.New()}
		run(t, m.state, []controller.Controller{NfTablesChainConfigController(), nfTablesChainController(filter)})

		m.configure(firewalled)
		time.Sleep(time.Hour)
		synctest.Wait()

		if n := filter.Reads(); n > 2 {
			t.Errorf("without rules: the packet filter was read %d times, want no repetition", n)
		}

		m.configure(firewalled + defaultDocument("block"))
		await(m, "", "chain/ingress", func(s network.SpecConditionSpec) bool {
			return s == network.SpecConditionSpec{State: network.SpecRefused, Cause: nft.ErrAbsent.Error()}
		})

		filter.Remove(false)
		applied := func(s network.SpecConditionSpec) bool {
			return s == network.SpecConditionSpec{State: network.SpecApplied}
		}
		await(m, "", "chain/ingress", applied)

		// What the kernel refuses leaves the rules as they were, and is tried again.
		filter.Refuse(unix.ENOMEM)
		m.configure(firewalled)
		synctest.Wait()

		if table, err := filter.Read(); err != nil || len(table.Chains) != 1 {
			t.Errorf("a refused change: got chains %v, %v, want the earlier one", table.Chains, err)
		}

		filter.Refuse(nil)
		awaitGone[network.SpecConditionSpec](m, "", "chain/ingress")

		if table, err := filter.Read(); err != nil || len(table.Chains) != 0 {
			t.Errorf("without documents: got chains %v, %v, want none", table.Chains, err)
		}

		// At rest, nothing is written.
		before := filter.Applied()

		time.Sleep(time.Hour)
		synctest.Wait()

		if after := filter.Applied(); after != before {
			t.Errorf("at rest: %d changes of the packet filter, want none", after-before)
		}
	})
}
