// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
)

// EtcdMemberList implements machine.MachineService. The local view needs no quorum.
func (s *Server) EtcdMemberList(ctx context.Context, req *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	list := &machine.EtcdMembers{}

	err := s.etcdCall(ctx, "list the members of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) error {
		var opts []clientv3.OpOption
		if req.GetQueryLocal() {
			opts = append(opts, clientv3.WithSerializable())
		}

		resp, err := c.MemberList(ctx, opts...)
		if err != nil {
			return err
		}

		for _, m := range resp.Members {
			list.LegacyMembers = append(list.LegacyMembers, m.Name)
			list.Members = append(list.Members, &machine.EtcdMember{
				Id: m.ID, Hostname: m.Name, PeerUrls: m.PeerURLs, ClientUrls: m.ClientURLs, IsLearner: m.IsLearner,
			})
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{list}}, nil
}

// EtcdRemoveMemberByID implements machine.MachineService. That those that remain have a quorum is etcd's to see to.
func (s *Server) EtcdRemoveMemberByID(ctx context.Context, req *machine.EtcdRemoveMemberByIDRequest) (*machine.EtcdRemoveMemberByIDResponse, error) {
	id := req.GetMemberId()
	what := fmt.Sprintf("remove etcd member %016x", id)

	err := s.etcdCall(ctx, what, etcdTimeout, func(ctx context.Context, c *clientv3.Client) error {
		members, err := c.MemberList(ctx)
		if err != nil {
			return err
		}

		if err := removable(members.Members, id); err != nil {
			return err
		}

		_, err = c.MemberRemove(ctx, id)

		return err
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdRemoveMemberByIDResponse{Messages: []*machine.EtcdRemoveMemberByID{{}}}, nil
}

// removable refuses what etcd itself would do: to leave a cluster without a member that votes.
func removable(members []*etcdserverpb.Member, id uint64) error {
	i := slices.IndexFunc(members, func(m *etcdserverpb.Member) bool { return m.ID == id })
	if i < 0 {
		return status.Error(codes.NotFound, "etcd has no such member; see: talosctl etcd members")
	}

	if !members[i].IsLearner && voters(members) == 1 {
		return status.Error(codes.FailedPrecondition, "it is the only member, and all data would be gone")
	}

	return nil
}

func voters(members []*etcdserverpb.Member) int {
	count := 0

	for _, m := range members {
		if !m.IsLearner {
			count++
		}
	}

	return count
}

// EtcdLeaveCluster implements machine.MachineService.
func (s *Server) EtcdLeaveCluster(ctx context.Context, _ *machine.EtcdLeaveClusterRequest) (*machine.EtcdLeaveClusterResponse, error) {
	const what = "leave etcd"

	err := s.etcdCall(ctx, what, etcdTimeout, func(ctx context.Context, c *clientv3.Client) error {
		members, err := c.MemberList(ctx)
		if err != nil {
			return err
		}

		if voters(members.Members) == 1 {
			return status.Error(codes.FailedPrecondition, "this node is the only member, and all data would be gone; to start anew, destroy the machine")
		}

		return status.Error(codes.Unimplemented, "this version cannot empty etcd's data on a running node; shut the node down (talosctl shutdown) and remove its member from another one (talosctl etcd remove-member)")
	})

	return nil, err
}

// EtcdForfeitLeadership implements machine.MachineService. Its answer has no member if this one did not lead.
func (s *Server) EtcdForfeitLeadership(ctx context.Context, _ *machine.EtcdForfeitLeadershipRequest) (*machine.EtcdForfeitLeadershipResponse, error) {
	answer := &machine.EtcdForfeitLeadership{}

	err := s.etcdCall(ctx, "forfeit the leadership of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) error {
		st, err := c.Status(ctx, etcdEndpoint)
		if err != nil {
			return err
		}

		self := st.Header.GetMemberId()
		if st.Leader != self {
			return nil
		}

		members, err := c.MemberList(ctx)
		if err != nil {
			return err
		}

		heir := slices.IndexFunc(members.Members, func(m *etcdserverpb.Member) bool { return m.ID != self && !m.IsLearner })
		if heir < 0 {
			return status.Error(codes.FailedPrecondition, "there is no other member to lead")
		}

		if _, err := c.MoveLeader(ctx, members.Members[heir].ID); err != nil {
			return err
		}

		answer.Member = members.Members[heir].Name

		return nil
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdForfeitLeadershipResponse{Messages: []*machine.EtcdForfeitLeadership{answer}}, nil
}
