// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/etcd"
)

const (
	// claimTimeout is how long one attempt to take the lock waits for its holder.
	claimTimeout = 5 * time.Second
	// changeTimeout bounds a change of the members.
	changeTimeout = 10 * time.Second
)

// claimed is the lock of the members, as this machine has it.
type claimed struct {
	lock   Lock
	client *clientv3.Client
	// obstacle is why the last attempt to take it failed.
	obstacle error
}

// held reports whether this machine has the lock.
func (c *claimed) held() bool {
	if c.lock == nil {
		return false
	}

	select {
	case <-c.lock.Lost():
		_ = c.client.Close()
		c.lock, c.client = nil, nil

		return false
	default:
		return true
	}
}

// release gives the lock back. If that fails, it ends by itself soon.
func (c *claimed) release(ctx context.Context) {
	c.obstacle = nil

	if c.lock == nil {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()

	_ = errors.Join(c.lock.Release(ctx), c.client.Close())
	c.lock, c.client = nil, nil
}

// clientURLs returns where the members with a vote are reached: a learner refuses most calls.
func clientURLs(cluster quorum.Cluster) (urls []string) {
	for _, m := range cluster.Voters() {
		urls = append(urls, m.ClientURLs...)
	}

	return urls
}

// act takes or gives back the lock, and does the action of the plan. It returns when to look again.
func (c *membershipController) act(
	ctx context.Context, rt controller.Runtime, log *slog.Logger, s sight, p plan, connect func(urls ...string) (*clientv3.Client, error),
) (time.Duration, error) {
	switch {
	case p.action == dropRequest{}:
		log.WarnContext(ctx, "etcd: the request to start a cluster is dropped", "error", p.err)

		if err := forgetRequest(c.root); err != nil {
			return 0, err
		}

		return movingPoll, c.withdraw(ctx)
	case !p.lock:
		c.lock.release(ctx)

		return c.rest(ctx, s, p)
	case !s.locked:
		c.take(ctx, s, connect)

		if c.lock.held() {
			return time.Millisecond, nil
		}

		return movingPoll, nil
	case p.action == nil || !c.lock.held():
		return movingPoll, nil
	}

	if text := strings.TrimPrefix(fmt.Sprintf("%T%+v", p.action, p.action), "etcd."); text != c.told {
		log.InfoContext(ctx, "etcd: the members change", "step", p.step, "action", text)
		c.told = text
	}

	err := c.do(ctx, s, p.action)

	switch {
	case err == nil:
		return time.Millisecond, nil
	case errors.Is(err, rpctypes.ErrMemberLearnerNotReady):
		return movingPoll, nil // the plan says that it catches up
	case errors.Is(err, rpctypes.ErrUnhealthy): // etcd changes its members only when they have been connected for some seconds
		return movingPoll, c.publish(ctx, rt, s, p, err)
	default:
		log.WarnContext(ctx, "etcd: the members could not be changed", "step", p.step, "error", err)

		return movingPoll, c.publish(ctx, rt, s, p, err)
	}
}

// rest returns when to look again at a cluster of which nothing is wanted now.
func (c *membershipController) rest(ctx context.Context, s sight, p plan) (time.Duration, error) {
	if p.step != etcd.StepMember || p.waits != "" || s.cluster == nil {
		return movingPoll, nil
	}

	if err := forgetDiscarded(c.root); err != nil {
		return 0, err
	}

	if !s.cluster.Confirmed {
		return movingPoll, nil
	}

	if c.returned != s.data.member {
		if err := c.sayReturned(ctx, s.data.member); err != nil {
			return 0, err
		}
	}

	return restingPoll, keepMembers(c.root, *s.cluster)
}

// sayReturned ends the absence that was announced before a reboot.
func (c *membershipController) sayReturned(ctx context.Context, member uint64) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()

	client, err := c.pool.Client(c.endpoint)
	if err == nil {
		err = etcdclient.Return(ctx, client, member, etcdclient.Life)
	}

	if err == nil {
		c.returned = member
	}

	return err
}

// take tries to take the lock.
func (c *membershipController) take(ctx context.Context, s sight, connect func(urls ...string) (*clientv3.Client, error)) {
	client, err := connect(clientURLs(*s.cluster)...)
	if err != nil {
		c.lock.obstacle = err

		return
	}

	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()

	lock, err := c.claim(ctx, client, s.name)
	if err != nil {
		_ = client.Close()
	} else {
		c.lock.lock, c.lock.client = lock, client
	}

	c.lock.obstacle = err
}

// do changes the members.
func (c *membershipController) do(ctx context.Context, s sight, action any) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()

	switch a := action.(type) {
	case addLearner:
		_, err := c.lock.client.MemberAddAsLearner(ctx, s.peerURLs)

		return wrap("add this machine to etcd as a learner", err)
	case removeMember:
		_, err := c.lock.client.MemberRemove(ctx, a.id)

		return wrap("remove etcd member "+hexID(a.id), err)
	case promoteMember:
		_, err := c.lock.client.MemberPromote(ctx, a.id)

		return wrap("promote etcd member "+hexID(a.id), err)
	case moveLeader:
		return c.handOver(ctx, s, a.to)
	default:
		return fmt.Errorf("unknown action %T", action)
	}
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	return nil
}

// handOver has another member lead. Only the leader itself does that.
func (c *membershipController) handOver(ctx context.Context, s sight, to uint64) error {
	i := slices.IndexFunc(s.cluster.Members, func(m quorum.Member) bool { return m.Leader && len(m.ClientURLs) > 0 })
	if i < 0 {
		return nil
	}

	leader, err := c.pool.Client(s.cluster.Members[i].ClientURLs[0])
	if err == nil {
		_, err = leader.MoveLeader(ctx, to)
	}

	return wrap("have etcd member "+hexID(to)+" lead", err)
}
