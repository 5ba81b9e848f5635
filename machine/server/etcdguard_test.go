// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// TestEtcdGuard: a machine whose absence would cost etcd its quorum does not go down, unless it is forced.
func TestEtcdGuard(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	configure(t, b, configtest.ControlPlane(t))

	ca := etcdPKI(t, b)
	first := runEtcd(t, ca)

	eventually(t, "etcd to answer", func() bool {
		_, err := b.machine.EtcdStatus(ctx, &emptypb.Empty{})

		return err == nil
	})

	second := &member{"second", freeURL(t), freeURL(t)}
	if _, err := etcdClient(t, b).MemberAdd(ctx, []string{second.peer}); err != nil {
		t.Fatal(err)
	}

	second.start(t, ca, "--initial-cluster", "node="+first.peer+",second="+second.peer, "--initial-cluster-state", "existing")

	self := untilHealthy(t, b, 2)

	reboot := func(mode machine.RebootRequest_Mode) error {
		_, err := b.machine.Reboot(ctx, &machine.RebootRequest{Mode: mode})
		if err == nil {
			err = typed.Destroy[runtime.PowerRequestSpec](ctx, b.State, "", runtime.PowerRequestID)
		}

		return err
	}

	// Without a member, nothing is guarded.
	if err := reboot(machine.RebootRequest_DEFAULT); err != nil {
		t.Errorf("a machine without a member: %v", err)
	}

	set(t, b, etcdres.MembershipID, etcdres.MembershipStatusSpec{MemberID: fmt.Sprintf("%016x", self)})

	const want = "etcd would lose its quorum: of 2 voting members 1 would remain healthy (second), 2 are needed"

	for what, err := range map[string]error{
		"reboot": reboot(machine.RebootRequest_DEFAULT),
		"shutdown": func() error {
			_, err := b.machine.Shutdown(ctx, &machine.ShutdownRequest{})

			return err
		}(),
	} {
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), what+" node: "+want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}

	if err := reboot(machine.RebootRequest_FORCE); err != nil {
		t.Errorf("a reboot that is forced: %v", err)
	}

	// The leader hands over.
	lead := func() string {
		answer, err := b.machine.EtcdForfeitLeadership(ctx, &machine.EtcdForfeitLeadershipRequest{})
		if err != nil {
			t.Fatal(err)
		}

		return answer.GetMessages()[0].GetMember()
	}

	if got := lead(); got != "second" {
		t.Errorf("forfeit: got %q, want second", got)
	}

	if got := lead(); got != "" {
		t.Errorf("forfeit by a member that does not lead: got %q", got)
	}
}

// untilHealthy waits until so many members are healthy, and returns the id of this machine's, which is named node.
func untilHealthy(t *testing.T, b *bench, members int) (self uint64) {
	t.Helper()

	eventually(t, fmt.Sprintf("%d members to be healthy", members), func() bool {
		cluster, err := b.etcdCluster(t.Context())
		healthy := 0

		for _, m := range cluster.Members {
			if m.Healthy {
				healthy++
			}

			if m.Name == "node" {
				self = m.ID
			}
		}

		return err == nil && healthy == members
	})

	return self
}

// failing is a state in which no request to go down can be written.
type failing struct{ state.State }

func (failing) Create(context.Context, resource.Resource, ...state.WriteOption) error {
	return errors.New("no room")
}

// TestEtcdAbsence: a machine that goes down says so to the others, and takes it back when it does not go down.
func TestEtcdAbsence(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	configure(t, b, configtest.ControlPlane(t))

	ca := etcdPKI(t, b)
	members := []*member{{"node", freeURL(t), freeURL(t)}, {"second", freeURL(t), freeURL(t)}, {"third", freeURL(t), freeURL(t)}}

	standing := etcdEndpoint
	etcdEndpoint = members[0].client

	t.Cleanup(func() { etcdEndpoint = standing })

	var initial []string
	for _, m := range members {
		initial = append(initial, m.name+"="+m.peer)
	}

	for _, m := range members {
		m.start(t, ca, "--initial-cluster", strings.Join(initial, ","))
	}

	set(t, b, etcdres.MembershipID, etcdres.MembershipStatusSpec{MemberID: fmt.Sprintf("%016x", untilHealthy(t, b, 3))})

	absent := func(want int64, after string) {
		t.Helper()

		got, err := etcdClient(t, b).Get(ctx, "talos:v1:etcd:absent/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || got.Count != want {
			t.Errorf("after %s: %v machines are about to go down (%v), want %d", after, got, err, want)
		}
	}

	whole := b.State
	b.Server.State = failing{whole}

	if _, err := b.machine.Reboot(ctx, &machine.RebootRequest{}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}

	absent(0, "a reboot that could not be requested")

	b.Server.State = whole

	if _, err := b.machine.Reboot(ctx, &machine.RebootRequest{}); err != nil {
		t.Error(err)
	}

	absent(1, "a reboot")

	if _, err := b.machine.Shutdown(ctx, &machine.ShutdownRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a shutdown of a machine that reboots: %v", err)
	}

	absent(1, "a second request")
}

// TestEtcdGuardWithoutEtcd: when no member answers, those that were seen last count, and none of them is healthy: the machine may reboot,
// because nothing is lost by that, but not leave.
func TestEtcdGuardWithoutEtcd(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	configure(t, b, configtest.ControlPlane(t))
	etcdPKI(t, b)

	standing := etcdEndpoint
	etcdEndpoint = freeURL(t)

	t.Cleanup(func() { etcdEndpoint = standing })

	for i, name := range []string{"node", "cp-2", "cp-3"} {
		set(t, b, fmt.Sprintf("%016x", i+1), etcdres.MemberStatusSpec{Name: name, ClientURLs: []string{freeURL(t)}, Healthy: true})
	}

	set(t, b, etcdres.MembershipID, etcdres.MembershipStatusSpec{MemberID: fmt.Sprintf("%016x", 1)})

	_, err := b.machine.EtcdLeaveCluster(ctx, &machine.EtcdLeaveClusterRequest{})
	if want := "leave node: etcd has lost its quorum: of 3 voting members 0 are healthy, 2 are needed"; status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) {
		t.Errorf("leave: got %v, want %q", err, want)
	}

	if _, err := b.machine.Reboot(ctx, &machine.RebootRequest{}); err != nil {
		t.Errorf("reboot: %v", err)
	}
}
