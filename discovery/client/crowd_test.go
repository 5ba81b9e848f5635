// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/discovery/server"
)

// crowd is many sessions of one cluster in one process.
type crowd struct {
	t       testing.TB
	network *network
	ttl     time.Duration

	service *server.Server
	stop    func()
	// back is when the service was started last.
	back moment

	// read holds what was decoded, by hash: the sessions share it.
	read sync.Map

	mu      sync.Mutex
	members map[string]*crowdMember
	wrong   []string
}

// crowdMember is a session, and what is true about it.
type crowdMember struct {
	id      string
	session *Session
	cancel  context.CancelFunc
	ended   chan error
	// hash is that of what it has published last.
	hash uint64
	// deleted reports whether it has deleted itself, and died when it was killed.
	deleted bool
	died    time.Time
	// updated is when the service, as far as it has not forgotten, was last told about it, and previous the time before.
	updated, previous time.Time
	// saved is updated as the snapshot has it.
	saved time.Time
}

func (c *crowd) start(snapshot string) {
	c.t.Helper()

	c.service = server.New(server.Options{Limits: registry.ProvedLimits}, slog.New(slog.DiscardHandler))

	if snapshot != "" {
		if _, err := c.service.Load(snapshot); err != nil {
			c.t.Fatal(err)
		}

		c.mu.Lock()

		for _, m := range c.members {
			m.updated = m.saved
		}

		c.mu.Unlock()
	}

	c.back = now()
	c.stop = c.network.serveThis(c.t, "crowd:1", c.service)
}

// save writes the snapshot.
func (c *crowd) save(path string) {
	c.t.Helper()

	c.mu.Lock()

	for _, m := range c.members {
		m.saved = m.updated
	}

	c.mu.Unlock()

	if _, err := c.service.Save(path); err != nil {
		c.t.Fatal(err)
	}
}

// note notes when the service was told about a member.
func (c *crowd) note(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	at := time.Now()
	out, err := handle(ctx, in)

	if u, ok := in.(*serverapi.AffiliateUpdateRequest); ok && err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()

		m := c.members[u.GetAffiliateId()]
		m.updated, m.previous = at, m.updated
	}

	return out, err
}

func newCrowd(t testing.TB, n int) *crowd {
	c := &crowd{t: t, network: newNetwork(t), ttl: 4*time.Second + time.Duration(n)*10*time.Millisecond, members: map[string]*crowdMember{}}
	c.network.buffer, c.network.intercept = 16<<10, c.note

	// A process of one client collects garbage less often than one of thousands.
	if n > 1000 {
		before := debug.SetGCPercent(300)
		t.Cleanup(func() { debug.SetGCPercent(before) })
	}

	t.Cleanup(func() {
		for _, m := range c.living() {
			m.cancel()
		}

		for _, m := range c.living() {
			if err := <-m.ended; err != nil {
				t.Error(err)
			}
		}
	})

	return c
}

// join runs a session that knows no one yet.
func (c *crowd) join(id string) *crowdMember {
	m := c.member(id)
	c.run(m)

	return m
}

// member makes a session that does not run yet.
func (c *crowd) member(id string) *crowdMember {
	o := c.network.options("crowd:1", id)
	o.TTL, o.Prove = c.ttl, false

	s := New(o, slog.New(slog.DiscardHandler))
	s.backoff.limit = maxDelayCarried

	s.table.read = func(m extension.Member, hash uint64) *record {
		if r, ok := c.read.Load(hash); ok {
			return r.(*record)
		}

		r, _ := c.read.LoadOrStore(hash, read(s.cipher, m, hash))

		return r.(*record)
	}
	s.table.dropped = func(gone string) { c.dropped(id, gone) }

	m := &crowdMember{id: id, session: s, ended: make(chan error, 1)}
	c.publish(m, "first")
	s.SetWatch(true)

	return m
}

func (c *crowd) run(m *crowdMember) {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel

	c.mu.Lock()
	c.members[m.id] = m
	c.mu.Unlock()

	go func() { m.ended <- m.session.Run(ctx) }()
}

// acquainted runs sessions that know each other already, as if they had been told by a service that has gone.
func (c *crowd) acquainted(n int) []*crowdMember {
	all := make([]*crowdMember, n)

	var table *table

	for i := range all {
		all[i] = c.member(fmt.Sprintf("%s-%04d", "sou7yy34ykX3n373Zw1DXKb8zD7UnyKT6HT3", i))
		table = &all[0].session.table
		local := all[i].session.local
		table.put(extension.Member{ID: all[i].id, Data: local.data, Endpoints: local.endpoints})
	}

	for _, m := range all[1:] {
		m.session.table.records, m.session.table.sum = slices.Clone(table.records), table.sum
	}

	for _, m := range all {
		c.run(m)
	}

	return all
}

func (c *crowd) publish(m *crowdMember, system string) {
	m.session.Publish(&Local{Revision: 1, Affiliate: &clientapi.Affiliate{
		NodeId: m.id, Hostname: m.id, Nodename: m.id, MachineType: "worker", OperatingSystem: system,
		Addresses: [][]byte{{10, 0, 0, 1}, {10, 0, 0, 2}},
		Kubespan:  &clientapi.KubeSpan{PublicKey: "+o3LHPC1ZPJ9vzcJ0zPsj7xLWFZnnRhDTwvfbrGTcHE=", Address: make([]byte, 16)},
	}})

	m.session.mu.Lock()
	local := m.session.local
	m.session.mu.Unlock()

	m.hash = extension.Hash(m.id, local.data, local.endpoints)
}

// dropped checks each member that a session drops: it must be gone, or have had no time left. On a busy computer that happens to members that
// live, and that have come back meanwhile.
func (c *crowd) dropped(by, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if m := c.members[id]; !m.deleted && time.Since(m.updated) < c.ttl && (m.previous.IsZero() || m.updated.Sub(m.previous) < c.ttl) {
		c.wrong = append(c.wrong, fmt.Sprintf("%s has lost %s", by, id))
	}
}

// kill ends a session that does not say goodbye.
func (c *crowd) kill(m *crowdMember) {
	m.cancel()

	if err := <-m.ended; err != nil {
		c.t.Error(err)
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	m.died = time.Now()
}

func (c *crowd) living() (all []*crowdMember) {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, m := range c.members {
		if m.died.IsZero() {
			all = append(all, m)
		}
	}

	return all
}

// moment is a time, and the processor time that this process has used until then.
type moment struct {
	at   time.Time
	used time.Duration
}

func now() moment { return moment{time.Now(), processorTime()} }

// processorTime returns how much this process has used. Others on a busy computer do not change that much.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}

	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// right waits until every session has what every living member has published last, and returns how long that took since a moment.
func (c *crowd) right(what string, since moment, budget time.Duration) time.Duration {
	c.t.Helper()

	for {
		wrong, why := c.wrongSessions()
		took := time.Since(since.at)

		if wrong == 0 {
			c.t.Logf("%s: all are right after %s, %s of processor time", what, took.Round(10*time.Millisecond), (processorTime() - since.used).Round(10*time.Millisecond))

			return took
		}

		if took > budget {
			c.t.Fatalf("%s: %d sessions are wrong after %s, one because %s", what, wrong, took.Round(10*time.Millisecond), why)
		}

		time.Sleep(100 * time.Millisecond)
	}
}

// wrongSessions returns how many living sessions do not have exactly the living members, apart from those that may still be kept.
func (c *crowd) wrongSessions() (wrong int, why string) {
	living := c.living()

	var want uint64

	for _, m := range living {
		if !m.deleted {
			want += m.hash
		}
	}

	c.mu.Lock()

	var dead []*crowdMember

	for _, m := range c.members {
		if !m.died.IsZero() {
			dead = append(dead, m)
		}
	}

	c.mu.Unlock()

	for _, m := range living {
		m.session.mu.Lock()

		sum := m.session.table.sum
		complete := m.session.status.State == StateWatching

		// The service, or the session for a service that has forgotten it, keeps a dead member for its TTL at most.
		for _, d := range dead {
			if i, ok := m.session.table.find(d.id); ok {
				sum -= m.session.table.records[i].hash

				if latest := later(d.died, c.back.at); time.Since(latest) > c.ttl+5*time.Second {
					complete = false
					why = fmt.Sprintf("%s has %s, which died %s ago", m.id, d.id, time.Since(d.died))
				}
			}
		}

		if !complete || sum != want {
			wrong++

			if why == "" {
				why = fmt.Sprintf("%s is %s with %d members, error %v", m.id, m.session.status.State, len(m.session.table.records), m.session.status.Err)
			}
		}

		m.session.mu.Unlock()
	}

	return wrong, why
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}

	return b
}

func (c *crowd) delete(m *crowdMember) {
	c.mu.Lock()
	m.deleted = true
	c.mu.Unlock()

	m.session.Publish(nil)
}

// withoutDead reports whether no session has a dead member any more.
func (c *crowd) withoutDead() bool {
	c.mu.Lock()

	var dead []string

	for id, m := range c.members {
		if !m.died.IsZero() {
			dead = append(dead, id)
		}
	}

	c.mu.Unlock()

	for _, m := range c.living() {
		m.session.mu.Lock()

		for _, id := range dead {
			if _, ok := m.session.table.find(id); ok {
				m.session.mu.Unlock()

				return false
			}
		}

		m.session.mu.Unlock()
	}

	return true
}
