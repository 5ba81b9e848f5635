// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
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

// EtcdRemoveMemberByID implements machine.MachineService. A member with a vote is removed under the lock of the members: never while
// another machine joins or leaves.
func (s *Server) EtcdRemoveMemberByID(ctx context.Context, req *machine.EtcdRemoveMemberByIDRequest) (*machine.EtcdRemoveMemberByIDResponse, error) {
	id := req.GetMemberId()
	what := fmt.Sprintf("remove etcd member %016x", id)

	_, err := etcdCall(ctx, s, what, etcdTimeout, func(ctx context.Context, c *clientv3.Client) (any, error) {
		cluster, err := s.etcdCluster(ctx)
		if err != nil {
			return nil, err
		}

		target, found := cluster.Find(id)

		switch err := quorum.Check(cluster.Members, quorum.Remove, id); {
		case !found:
			return nil, status.Error(codes.NotFound, quorum.ErrNoMember.Error())
		case err != nil:
			return nil, quorumError(err)
		case target.Learner: // it has no vote
			_, err := c.MemberRemove(ctx, id)

			return nil, err
		}

		return nil, s.underMembersLock(ctx, c, what, func(ctx context.Context, cluster quorum.Cluster, _ *clusterstate.Held) error {
			if err := quorum.Check(cluster.Members, quorum.Remove, id); err != nil {
				return quorumError(err)
			}

			_, err := c.MemberRemove(ctx, id)

			return err
		})
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdRemoveMemberByIDResponse{Messages: []*machine.EtcdRemoveMemberByID{{}}}, nil
}

// EtcdForfeitLeadership implements machine.MachineService. The answer names no member if this one was not the leader.
func (s *Server) EtcdForfeitLeadership(ctx context.Context, _ *machine.EtcdForfeitLeadershipRequest) (*machine.EtcdForfeitLeadershipResponse, error) {
	heir, err := etcdCall(ctx, s, "forfeit the leadership of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) (string, error) {
		st, err := c.Status(ctx, etcdEndpoint)
		if err != nil || st.Leader != st.Header.GetMemberId() {
			return "", err
		}

		cluster, err := s.etcdCluster(ctx)
		if err != nil {
			return "", err
		}

		heir, found := cluster.Heir(st.Leader)
		if !found {
			return "", status.Error(codes.FailedPrecondition, "there is no other member to lead: none with a vote is healthy")
		}

		_, err = c.MoveLeader(ctx, heir.ID)

		return heir.String(), err
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdForfeitLeadershipResponse{Messages: []*machine.EtcdForfeitLeadership{{Member: heir}}}, nil
}
