// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
)

// leaveTimeout is how long a member may take to leave.
const leaveTimeout = 2 * time.Minute

// EtcdLeaveCluster implements machine.MachineService. When it answers, the member is gone; the machine joins again after a
// reboot.
func (s *Server) EtcdLeaveCluster(ctx context.Context, _ *machine.EtcdLeaveClusterRequest) (*machine.EtcdLeaveClusterResponse, error) {
	const what = "leave etcd"

	if _, _, err := s.etcdSecrets(ctx, what); err != nil {
		return nil, err
	}

	self, err := s.etcdSelf(ctx)

	switch {
	case err != nil:
		return nil, err
	case self == 0:
		return nil, status.Errorf(codes.FailedPrecondition, "%s: this node is not a member; see: talosctl get etcdmembershipstatuses", what)
	}

	if err := s.guard(ctx, quorum.Leave); err != nil {
		return nil, err
	}

	if err := s.leaveEtcd(ctx, what); err != nil {
		return nil, err
	}

	return &machine.EtcdLeaveClusterResponse{Messages: []*machine.EtcdLeaveCluster{{}}}, nil
}

// leaveEtcd asks the member of this machine to leave, and returns when it has left.
func (s *Server) leaveEtcd(ctx context.Context, what string) error {
	if err := typed.Set(ctx, s.State, "", etcd.LeaveID, etcd.LeaveRequestSpec{}); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()

	last := &etcd.MembershipStatusSpec{}

	left, err := typed.WatchFor(ctx, s.State, "", etcd.MembershipID, func(r *resource.Typed[etcd.MembershipStatusSpec]) bool {
		last = r.TypedSpec()

		return last.Step == etcd.StepLeft || last.Intent == etcd.IntentLeave && last.Step == etcd.StepChecking && last.Error != ""
	})

	switch {
	case err != nil && ctx.Err() != nil:
		return status.Errorf(codes.DeadlineExceeded, "%s: it goes on: step %s, waits for %s; see: talosctl get etcdmembershipstatuses", what, last.Step, last.WaitsFor)
	case err != nil:
		return err
	case left.TypedSpec().Step != etcd.StepLeft:
		// It is not tried again when the caller has gone.
		err := typed.Destroy[etcd.LeaveRequestSpec](context.WithoutCancel(ctx), s.State, "", etcd.LeaveID)
		if err == nil {
			err = status.Errorf(codes.FailedPrecondition, "%s: %s", what, left.TypedSpec().Error)
		}

		return err
	default:
		return nil
	}
}
