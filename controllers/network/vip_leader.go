// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// firstLook is how long a machine has an address before it looks where etcd's leader is. Each time that it moved the leader, it looks half
	// as often: with addresses on all machines there is no better place.
	firstLook = 10 * time.Second
	lastLook  = 10 * time.Minute
	// lookTimeout bounds the requests of one look.
	lookTimeout = 5 * time.Second
)

// leadElsewhere moves etcd's leader away from the client's first endpoint, which is on a machine with an address, until ctx ends. A machine that
// loses its power then takes only one of the two along: otherwise the other members elect a leader before they elect a machine, and leases
// begin again with a new leader. An error is not reported: then the leader stays.
func leadElsewhere(ctx context.Context, client *clientv3.Client, pause time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}

		if moveLeader(ctx, client) {
			pause = min(2*pause, lastLook)
		}
	}
}

// moveLeader moves the leader to another member, and reports whether it did.
func moveLeader(ctx context.Context, client *clientv3.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()

	own, err := client.Status(ctx, client.Endpoints()[0])
	if err != nil || own.Leader != own.Header.GetMemberId() {
		return false
	}

	members, err := client.MemberList(ctx)
	if err != nil {
		return false
	}

	for _, m := range members.Members {
		if m.ID == own.Leader || m.IsLearner || !answers(ctx, client, m.ClientURLs) {
			continue
		}

		_, err := client.MoveLeader(ctx, m.ID)

		return err == nil
	}

	return false
}

// answers reports whether a member answers: for as long as etcd waits for one that does not, it writes nothing.
func answers(ctx context.Context, client *clientv3.Client, urls []string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout/5)
	defer cancel()

	for _, url := range urls {
		if status, err := client.Status(ctx, url); err == nil && len(status.Errors) == 0 {
			return true
		}
	}

	return false
}
