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

// EtcdMemberList implements machine.MachineService. A local query needs no quorum.
func (s *Server) EtcdMemberList(ctx context.Context, req *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	var opts []clientv3.OpOption
	if req.GetQueryLocal() {
		opts = append(opts, clientv3.WithSerializable())
	}

	resp, err := etcdCall(ctx, s, "list the members of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*clientv3.MemberListResponse, error) {
		return c.MemberList(ctx, opts...)
	})
	if err != nil {
		return nil, err
	}

	list := &machine.EtcdMembers{}

	for _, m := range resp.Members {
		list.LegacyMembers = append(list.LegacyMembers, m.Name)
		list.Members = append(list.Members, &machine.EtcdMember{
			Id: m.ID, Hostname: m.Name, PeerUrls: m.PeerURLs, ClientUrls: m.ClientURLs, IsLearner: m.IsLearner,
		})
	}

	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{list}}, nil
}

// EtcdRemoveMemberByID implements machine.MachineService. etcd itself checks that the remaining members have a quorum.
func (s *Server) EtcdRemoveMemberByID(ctx context.Context, req *machine.EtcdRemoveMemberByIDRequest) (*machine.EtcdRemoveMemberByIDResponse, error) {
	id := req.GetMemberId()
	what := fmt.Sprintf("remove etcd member %016x", id)

	_, err := etcdCall(ctx, s, what, etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*clientv3.MemberRemoveResponse, error) {
		members, err := c.MemberList(ctx)
		if err != nil {
			return nil, err
		}

		if err := removable(members.Members, id); err != nil {
			return nil, err
		}

		return c.MemberRemove(ctx, id)
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdRemoveMemberByIDResponse{Messages: []*machine.EtcdRemoveMemberByID{{}}}, nil
}

// removable refuses to remove the last voting member. etcd itself would allow it.
func removable(members []*etcdserverpb.Member, id uint64) error {
	i := slices.IndexFunc(members, func(m *etcdserverpb.Member) bool { return m.ID == id })
	if i < 0 {
		return status.Error(codes.NotFound, "etcd has no such member; see: talosctl etcd members")
	}

	if !members[i].IsLearner && voters(members) == 1 {
		return status.Error(codes.FailedPrecondition, "it is the only member, and all data would be lost")
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
	return etcdCall(ctx, s, "leave etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*machine.EtcdLeaveClusterResponse, error) {
		members, err := c.MemberList(ctx)
		if err != nil {
			return nil, err
		}

		if voters(members.Members) == 1 {
			return nil, status.Error(codes.FailedPrecondition, "this node is the only member, and all data would be lost; to start again, destroy the machine")
		}

		return nil, status.Error(codes.Unimplemented, "this version cannot empty etcd's data on a running node; shut the node down (talosctl shutdown) and remove its member from another one (talosctl etcd remove-member)")
	})
}

// EtcdForfeitLeadership implements machine.MachineService. The answer names no member if this one was not the leader.
func (s *Server) EtcdForfeitLeadership(ctx context.Context, _ *machine.EtcdForfeitLeadershipRequest) (*machine.EtcdForfeitLeadershipResponse, error) {
	heir, err := etcdCall(ctx, s, "forfeit the leadership of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*etcdserverpb.Member, error) {
		st, err := c.Status(ctx, etcdEndpoint)
		if err != nil {
			return nil, err
		}

		self := st.Header.GetMemberId()
		if st.Leader != self {
			return nil, nil
		}

		members, err := c.MemberList(ctx)
		if err != nil {
			return nil, err
		}

		i := slices.IndexFunc(members.Members, func(m *etcdserverpb.Member) bool { return m.ID != self && !m.IsLearner })
		if i < 0 {
			return nil, status.Error(codes.FailedPrecondition, "there is no other member to lead")
		}

		_, err = c.MoveLeader(ctx, members.Members[i].ID)

		return members.Members[i], err
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdForfeitLeadershipResponse{Messages: []*machine.EtcdForfeitLeadership{{Member: heir.GetName()}}}, nil
}
