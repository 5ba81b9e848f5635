// SPDX-License-Identifier: Apache-2.0

package etcdclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/cosi/guard"
)

const (
	// listTimeout is how long a list of the members may take that a quorum confirms.
	listTimeout = 3 * time.Second
	// statusTimeout is how long a member may take to say how it is.
	statusTimeout = 2 * time.Second
)

// ErrSilent is returned when no server answers; match it with errors.Is.
var ErrSilent = errors.New("no etcd answers")

// Look asks the servers for the members of their cluster, and each of these for its health. The servers in rest are asked when none
// of first answers. Without a quorum the list is that of one member, and not confirmed.
func (p *Pool) Look(ctx context.Context, first, rest []string) (quorum.Cluster, error) {
	if len(first)+len(rest) == 0 {
		return quorum.Cluster{}, ErrSilent
	}

	var failed error

	for _, confirmed := range []bool{true, false} {
		for _, urls := range [][]string{first, rest} {
			list, err := p.list(ctx, urls, confirmed)
			if list != nil {
				cluster := clusterOf(list, confirmed)
				p.health(ctx, &cluster)

				return cluster, nil
			}

			if confirmed {
				failed = errors.Join(failed, err)
			}
		}
	}

	return quorum.Cluster{}, fmt.Errorf("%w: %w", ErrSilent, lines{failed})
}

// lines writes several errors in one line.
type lines struct{ error }

func (l lines) Error() string { return strings.ReplaceAll(l.error.Error(), "\n", "; ") }

// list returns the first list that one of the servers has.
func (p *Pool) list(ctx context.Context, urls []string, confirmed bool) (*etcdserverpb.MemberListResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()

	type answer struct {
		number int
		list   *etcdserverpb.MemberListResponse
		err    error
	}

	answers := make(chan answer, len(urls))

	var asked guard.Group

	for i, at := range urls {
		asked.Go(func() error {
			a := answer{number: i, err: errors.New("it failed")} // unless it ends
			defer func() { answers <- a }()

			conn, err := p.conn(at)
			if err == nil {
				a.list, err = etcdserverpb.NewClusterClient(conn).MemberList(ctx, &etcdserverpb.MemberListRequest{Linearizable: confirmed})
			}

			a.err = explain(at, err)

			return nil
		})
	}

	failed := make([]error, len(urls))

	for range urls {
		a := <-answers
		if a.err == nil {
			cancel()

			return a.list, asked.Wait()
		}

		failed[a.number] = a.err
	}

	return nil, errors.Join(append(failed, asked.Wait())...)
}

// explain returns a short error of a call to a server.
func explain(at string, err error) error {
	if err == nil {
		return nil
	}

	host := strings.TrimPrefix(at, "https://")

	st, ok := status.FromError(err)

	switch {
	case !ok:
		return fmt.Errorf("%s: %w", host, err)
	case st.Code() == codes.DeadlineExceeded:
		return fmt.Errorf("%s: timed out", host)
	default:
		text := st.Message()
		if i := strings.LastIndex(text, "desc = "); i >= 0 {
			text = strings.Trim(text[i+len("desc = "):], `"`)
		}

		return fmt.Errorf("%s: %s", host, strings.TrimPrefix(text, "transport: Error while dialing: "))
	}
}

func clusterOf(list *etcdserverpb.MemberListResponse, confirmed bool) quorum.Cluster {
	cluster := quorum.Cluster{ID: list.GetHeader().GetClusterId(), Confirmed: confirmed}

	for _, m := range list.GetMembers() {
		cluster.Members = append(cluster.Members, quorum.Member{
			ID: m.GetID(), Name: m.GetName(), PeerURLs: m.GetPeerURLs(), ClientURLs: m.GetClientURLs(), Learner: m.GetIsLearner(),
		})
	}

	return cluster
}

// servedAt returns the URLs for clients of a member. A member publishes them after it has joined, which may take etcd many seconds; until
// then they follow from where its peers reach it.
func servedAt(m quorum.Member) []string {
	if len(m.ClientURLs) > 0 {
		return m.ClientURLs
	}

	var urls []string

	for _, text := range m.PeerURLs {
		if u, err := url.Parse(text); err == nil {
			u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(contract.EtcdClientPort))
			urls = append(urls, u.String())
		}
	}

	return urls
}

// health asks all members how they are.
func (p *Pool) health(ctx context.Context, cluster *quorum.Cluster) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()

	var asked guard.Group

	for i := range cluster.Members {
		asked.Go(func() error {
			m := &cluster.Members[i]

			for _, at := range servedAt(*m) {
				conn, err := p.conn(at)
				if err != nil {
					continue
				}

				st, err := etcdserverpb.NewMaintenanceClient(conn).Status(ctx, &etcdserverpb.StatusRequest{})
				if err == nil && st.GetHeader().GetMemberId() == m.ID && st.GetHeader().GetClusterId() == cluster.ID {
					m.Healthy, m.Leader, m.Applied = st.GetLeader() != 0, st.GetLeader() == m.ID, st.GetRaftAppliedIndex()

					break
				}
			}

			return nil
		})
	}

	_ = asked.Wait() // a member that failed to answer is not healthy
}
