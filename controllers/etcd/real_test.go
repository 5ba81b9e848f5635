// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// leave has a machine leave its cluster.
func (m *testMachine) leave() {
	m.fleet.Helper()

	if err := typed.Set(m.fleet.Context(), m.State, "", etcd.LeaveID, etcd.LeaveRequestSpec{}); err != nil {
		m.fleet.Fatal(err)
	}

	m.untilStep(etcd.StepLeft)

	// It does not say any more that it is a member.
	for deadline := time.Now().Add(fleetPatience); ; time.Sleep(10 * time.Millisecond) {
		member, err := typed.Find[etcd.MemberSpec](m.fleet.Context(), m.State, "", etcd.MemberID)
		if err == nil && member == nil {
			return
		}

		if time.Now().After(deadline) {
			m.fleet.Fatalf("%s is a member after it has left: %v, %v", m.name, member, err)
		}
	}
}

// TestGrowAndShrink: a cluster grows from one member to five and shrinks again while a client writes. The leader leaves, too. No
// acknowledged write is lost.
func TestGrowAndShrink(t *testing.T) {
	f := newFleet(t)
	if f == nil {
		return
	}

	start := time.Now()
	took := func(what string) { t.Logf("%s after %s", what, time.Since(start).Round(100*time.Millisecond)) }

	f.boot(1).bootstrap()
	f.machines[1].untilMember()
	took("one member")

	w := startWriter(f.client(1))

	f.boot(2)
	f.boot(3)
	f.members(1, 1, 2, 3)
	took("three members")

	f.boot(4)
	f.boot(5)
	f.members(1, 1, 2, 3, 4, 5)
	took("five members")

	for n := 1; n <= 5; n++ {
		f.machines[n].untilMember()
	}

	// Nothing is written when nothing changes, by any machine.
	before, err := f.client(2).Get(t.Context(), "/written/0")
	if err != nil {
		t.Fatal(err)
	}

	if before.Header.Revision < 2 {
		t.Errorf("revision %d", before.Header.Revision)
	}

	// The first machine leads, as it was the first, so it hands over when it leaves.
	w.check(t, f.client(2))
	w = startWriter(f.client(3))

	for _, n := range []int{1, 5} {
		f.machines[n].leave()
		f.machines[n].off()
	}

	f.members(3, 2, 3, 4)
	took("three members again")

	for _, n := range []int{2, 4} {
		f.machines[n].leave()
		f.machines[n].off()
	}

	f.members(3, 3)
	took("one member again")
	w.check(t, f.client(3))

	// The last one stays.
	if err := typed.Set(t.Context(), f.machines[3].State, "", etcd.LeaveID, etcd.LeaveRequestSpec{}); err != nil {
		t.Fatal(err)
	}

	f.machines[3].until("it is refused", func(s etcd.MembershipStatusSpec) bool {
		return s.Error == "leave cp-3: it is the only member, and all data would be lost"
	})
	f.members(3, 3)
}

// TestQuiet: machines whose membership does not change write nothing, neither to their state nor to etcd.
func TestQuiet(t *testing.T) {
	f := newCluster(t, 2)
	if f == nil {
		return
	}

	f.members(1, 1, 2)

	revision := func() int64 {
		got, err := f.client(1).Get(t.Context(), "/nothing")
		if err != nil {
			t.Fatal(err)
		}

		return got.Header.Revision
	}

	// Both have seen both.
	for n := 1; n <= 2; n++ {
		for id := range f.machines[1].ids() {
			controllertest.Wait(f.machines[n].Node, id, func(m etcd.MemberStatusSpec) bool { return m.Healthy && !m.Learner })
		}
	}

	before := revision()

	f.machines[2].Quiet(restingPoll + 2*time.Second)

	if after := revision(); after != before {
		t.Errorf("the revision of an idle etcd went from %d to %d", before, after)
	}
}

// ids returns the ids of the members that a machine has published.
func (m *testMachine) ids() map[string]bool {
	list, err := typed.List[etcd.MemberStatusSpec](m.fleet.Context(), m.State, "")
	if err != nil {
		m.fleet.Fatal(err)
	}

	ids := map[string]bool{}
	for _, r := range list {
		ids[r.Metadata().ID()] = true
	}

	return ids
}

// TestSecondLife: a cluster that is started again on the same machine is another one, so that members of the former one do not write into it.
// While the machine has no address, it is a member nevertheless.
func TestSecondLife(t *testing.T) {
	f := newFleet(t)
	if f == nil {
		return
	}

	m := f.boot(1)
	m.bootstrap()
	first := m.untilMember()

	m.powerCut()
	m.wipe()

	m = f.boot(1)
	m.bootstrap()
	second := m.untilMember()

	if second.ClusterID == first.ClusterID || second.MemberID == first.MemberID {
		t.Errorf("the second cluster is %+v, the first one was %+v", second, first)
	}

	controllertest.Set(m.Node, network.NodeAddressRoutedID, network.NodeAddressSpec{})

	cut := m.until("it has no address", func(s etcd.MembershipStatusSpec) bool { return s.WaitsFor != "" })
	if cut.MemberID != second.MemberID || cut.Step != etcd.StepMember || !cut.Belongs() || !m.ids()[second.MemberID] {
		t.Errorf("without an address: %+v, members %v", cut, m.ids())
	}

	controllertest.Set(m.Node, network.NodeAddressRoutedID, network.NodeAddressSpec{Addresses: []netip.Prefix{netip.PrefixFrom(m.at, 8)}})

	if got := m.untilMember(); got != second {
		t.Errorf("with its address again: %+v, want %+v", got, second)
	}

	// A damaged request is ignored.
	if err := os.WriteFile(filepath.Join(m.root, requestPath), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	m.powerCut()

	if got := f.boot(1).untilMember(); got != second {
		t.Errorf("with a damaged request: %+v, want %+v", got, second)
	}
}

// TestInterruptedJoin: a machine whose power is cut at any step of its join is a member after the next boot, and nothing of the
// interrupted attempt is left.
func TestInterruptedJoin(t *testing.T) {
	f := newCluster(t, 2)
	if f == nil {
		return
	}

	w := startWriter(f.client(1, 2))

	for i, step := range []etcd.Step{etcd.StepLocking, etcd.StepAdding, etcd.StepStarting, etcd.StepPromoting, etcd.StepMember} {
		n := 3 + i%2
		m := f.boot(n)
		m.untilStep(step)
		m.powerCut()

		m = f.boot(n)
		m.untilMember()
		f.members(1, 1, 2, n)
		m.leave()
		m.off()
		f.members(1, 1, 2)

		if m.hasDiscarded() {
			t.Errorf("%s: the data is still there after the machine left", step)
		}
	}

	w.check(t, f.client(2))
}

// TestRemovedMemberReturns: a member that an operator has removed joins again with empty data, whether it ran meanwhile or not. A
// machine whose data is lost takes the place of its old member.
func TestRemovedMemberReturns(t *testing.T) {
	f := newCluster(t, 2)
	if f == nil {
		return
	}

	m := f.boot(3)
	old := m.untilMember().MemberID
	w := startWriter(f.client(1, 2))

	again := func(what string) {
		t.Helper()

		status := m.until("it is another member", func(s etcd.MembershipStatusSpec) bool {
			return s.Step == etcd.StepMember && s.WaitsFor == "" && s.MemberID != "" && s.MemberID != old
		})
		f.members(1, 1, 2, 3)

		for deadline := time.Now().Add(fleetPatience); m.hasDiscarded(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the old data is still there", what)
			}
		}

		old = status.MemberID
	}

	remove := func() {
		t.Helper()

		var id uint64
		if _, err := fmt.Sscanf(old, "%x", &id); err != nil {
			t.Fatal(err)
		}

		// etcd refuses until all members have been connected for some seconds.
		client := f.client(1)

		for deadline := time.Now().Add(fleetPatience); ; time.Sleep(100 * time.Millisecond) {
			_, err := client.MemberRemove(t.Context(), id)
			if err == nil {
				return
			}

			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}

	remove()
	again("it ran when it was removed")

	m.powerCut()
	remove()

	m = f.boot(3)
	again("it was off when it was removed")

	m.powerCut()
	m.wipe()

	m = f.boot(3)
	again("its data was lost")

	// The data goes while etcd runs.
	for _, dir := range []string{"wal", "snap"} {
		if err := os.RemoveAll(filepath.Join(m.root, DataDir, "member", dir)); err != nil {
			t.Fatal(err)
		}
	}

	m.off()

	m = f.boot(3)
	again("its data was deleted")
	w.check(t, f.client(3))
}

// TestNoQuorum: without a quorum no machine joins and no data is touched, and the status says why.
func TestNoQuorum(t *testing.T) {
	f := newCluster(t, 2)
	if f == nil {
		return
	}

	f.machines[2].powerCut()

	m := f.boot(3)
	m.until("it waits for a quorum", func(s etcd.MembershipStatusSpec) bool {
		return s.Intent == etcd.IntentJoin && s.WaitsFor == "etcd to have a quorum"
	})

	// A member without a quorum is not healthy, and it is live.
	first := f.machines[1]

	var p probe
	if err := p.use(
		controllertest.Wait[secrets.EtcdRootSpec](first.Node, secrets.EtcdRootID, nil), controllertest.Wait[secrets.EtcdCertsSpec](first.Node, secrets.EtcdID, nil),
	); err != nil {
		t.Fatal(err)
	}

	url := settings.URL(first.at, healthPort)
	if err := p.check(url+"/health", new(atomic.Bool))(t.Context()); err == nil {
		t.Error("without a quorum: it is healthy")
	}

	if response, err := p.get(t.Context(), url+"/livez"); err != nil || response.StatusCode != http.StatusOK || response.Body.Close() != nil {
		t.Errorf("without a quorum: livez: got %v, %v", response, err)
	}

	response, err := p.get(t.Context(), url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(response.Body)
	if err != nil || response.Body.Close() != nil || !strings.Contains(string(text), "\netcd_disk_defrag_inflight 0\n") {
		t.Errorf("the metric of a defragmentation is missing: %v", err)
	}

	p.client.Load().CloseIdleConnections()

	f.boot(2).untilMember()
	m.untilMember()
	f.members(1, 1, 2, 3)
}

// TestSecondBootstrap: a cluster is started once. Another control plane refuses, says where the cluster is, and joins it.
func TestSecondBootstrap(t *testing.T) {
	f := newCluster(t, 1)
	if f == nil {
		return
	}

	m := f.boot(2)
	controllertest.Wait[secrets.EtcdCertsSpec](m.Node, secrets.EtcdID, nil)

	err := RequestBootstrap(t.Context(), m.State, m.root, etcd.BootstrapRequestSpec{})
	if !errors.Is(err, ErrClusterExists) && !errors.Is(err, ErrHasData) || errors.Is(err, ErrClusterExists) && !strings.Contains(err.Error(), "cp-1") {
		t.Errorf("a second bootstrap: got %v, want %v with cp-1", err, ErrClusterExists)
	}

	// The request was written before the first machine was seen.
	if err := keepRequest(m.root, etcd.BootstrapRequestSpec{}); err != nil {
		t.Fatal(err)
	}

	m.untilMember()
	f.members(1, 1, 2)

	if kept, err := keptRequest(m.root); kept != nil || err != nil {
		t.Errorf("the request is still there: %v, %v", kept, err)
	}
}
