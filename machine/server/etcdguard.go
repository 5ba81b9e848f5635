// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// guard returns nil if this machine may go without etcd losing its quorum, or the reason why not. On a machine without a member nothing is
// lost.
func (s *Server) guard(ctx context.Context, action quorum.Action) error {
	self, err := s.etcdSelf(ctx)
	if err != nil || self == 0 {
		return err
	}

	cluster, err := s.etcdCluster(ctx)
	if err != nil {
		return err
	}

	return quorumError(quorum.Check(cluster.Members, action, self))
}

// mayGo is guard for a machine that goes down and comes back. It announces that to the others: of machines that are asked at once, no more
// go than etcd can spare. If the machine does not go down nevertheless, stay takes that back.
func (s *Server) mayGo(ctx context.Context, action quorum.Action) (stay func(), err error) {
	stay = func() {}

	self, err := s.etcdSelf(ctx)
	if err != nil || self == 0 {
		return stay, err
	}

	cluster, err := s.etcdCluster(ctx)
	if err != nil {
		return stay, err
	}

	if err := quorum.Check(cluster.Members, action, self); err != nil {
		return stay, quorumError(err)
	}

	// A member that is not healthy is not counted on, nor is the only one.
	if m, _ := cluster.Find(self); !m.Healthy || m.Learner || len(cluster.Voters()) == 1 {
		return stay, nil
	}

	stay = func() { s.stay(context.WithoutCancel(ctx), self) }

	_, err = etcdCall(ctx, s, string(action), etcdTimeout, func(ctx context.Context, c *clientv3.Client) (any, error) {
		return nil, s.underMembersLock(ctx, c, string(action)+" of "+hostname(cluster, self),
			func(ctx context.Context, cluster quorum.Cluster, lock *clusterstate.Held) error {
				if err := quorum.Check(cluster.Members, action, self); err != nil {
					return quorumError(err)
				}

				err := etcdclient.Announce(ctx, c, lock.Condition(), self, etcdclient.Life)
				if err != nil {
					stay() // the answer may be lost, and not the announcement
				}

				return err
			})
	})

	return stay, err
}

// stay takes the announcement back that this machine goes down. Otherwise the others count without its member until the announcement expires.
func (s *Server) stay(ctx context.Context, self uint64) {
	const what = "stay in etcd's quorum"

	_, err := etcdCall(ctx, s, what, etcdTimeout, func(ctx context.Context, c *clientv3.Client) (any, error) {
		return nil, etcdclient.Stay(ctx, c, self, etcdclient.Life)
	})
	if err != nil {
		s.Log.WarnContext(ctx, what, "error", err)
	}
}

func hostname(cluster quorum.Cluster, id uint64) string {
	m, _ := cluster.Find(id)

	return m.String()
}

// lockTimeout is how long a change of the members waits for another one.
const lockTimeout = 10 * time.Second

// underMembersLock calls fn with the members as they are under their lock: no other machine joins, leaves or goes down meanwhile. Machines
// that are about to go down are not healthy. The context of fn ends when the lock is lost.
func (s *Server) underMembersLock(
	ctx context.Context, c *clientv3.Client, holder string, fn func(context.Context, quorum.Cluster, *clusterstate.Held) error,
) error {
	claiming, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()

	held, err := clusterstate.Claim(claiming, c, clusterstate.EtcdMembers, holder)
	if err != nil {
		return status.Errorf(codes.Unavailable, "etcd's members are changing: %v", err)
	}

	defer held.Release(ctx) // if it fails, the lock expires: what was done stays done

	ctx, end := held.Context(ctx)
	defer end()

	cluster, err := s.etcdCluster(ctx)
	if err == nil {
		cluster, err = etcdclient.WithoutAbsent(ctx, c, cluster)
	}

	if err != nil {
		return err
	}

	return fn(ctx, cluster, held)
}

// quorumError returns the error of a check, with its code.
func quorumError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, quorum.ErrNoMember):
		return status.Error(codes.NotFound, err.Error())
	default:
		return status.Error(codes.FailedPrecondition, err.Error())
	}
}

// etcdSelf returns the id of this machine's member, 0 if it has none.
func (s *Server) etcdSelf(ctx context.Context) (uint64, error) {
	var membership etcd.MembershipStatusSpec

	f := typed.Read(ctx, s.State, etcd.MembershipID, &membership)
	if f.Err != nil || membership.MemberID == "" {
		return 0, f.Err
	}

	return strconv.ParseUint(membership.MemberID, 16, 64)
}

// etcdCluster returns the members as they are now. When no member answers, it returns those that were seen last, as not healthy.
func (s *Server) etcdCluster(ctx context.Context) (quorum.Cluster, error) {
	var (
		root  secrets.EtcdRootSpec
		certs secrets.EtcdCertsSpec
	)

	ok, err := typed.All(typed.Read(ctx, s.State, secrets.EtcdRootID, &root), typed.Read(ctx, s.State, secrets.EtcdID, &certs))
	if err != nil || !ok {
		return quorum.Cluster{}, err
	}

	last, err := s.lastMembers(ctx)
	if err != nil {
		return quorum.Cluster{}, err
	}

	var peers []string
	for _, m := range last.Members {
		peers = append(peers, m.ClientURLs...)
	}

	var pool etcdclient.Pool

	pool.Use(root, certs)

	cluster, err := pool.Look(ctx, []string{etcdEndpoint}, peers)
	closed := pool.Close()

	if errors.Is(err, etcdclient.ErrSilent) {
		return last, closed
	}

	return cluster, errors.Join(err, closed)
}

// lastMembers returns the members that the machine has published.
func (s *Server) lastMembers(ctx context.Context) (last quorum.Cluster, err error) {
	list, err := typed.List[etcd.MemberStatusSpec](ctx, s.State, "")
	if err != nil {
		return last, err
	}

	for _, r := range list {
		id, err := strconv.ParseUint(r.Metadata().ID(), 16, 64)
		if err != nil {
			return last, err
		}

		m := r.TypedSpec()
		last.Members = append(last.Members, quorum.Member{ID: id, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.Learner})
	}

	return last, nil
}
