// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// etcdProgram is etcd as this project builds it, or an installed one.
func etcdProgram(t *testing.T) string {
	t.Helper()

	for _, path := range []string{os.Getenv("ETCD"), "../../out/components/bin/etcd", "etcd"} {
		if path == "" {
			continue
		}

		//program:built etcd, unless one is named or installed
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}

	if os.Getenv("TALOS_E2E") != "" { // make test has built it
		t.Fatal("etcd: not found")
	}

	t.Skip("etcd: not found: run make build, or set ETCD")

	return ""
}

// etcdMember is a member of an etcd that runs for a test.
type etcdMember struct {
	url string // for clients
	end func()
}

// startEtcd starts an etcd with some members.
func startEtcd(t *testing.T, count int) []etcdMember {
	t.Helper()

	urls := make([]string, 2*count) // one for clients and one for members

	for i := range urls {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		urls[i] = "http://" + l.Addr().String()
		_ = l.Close()
	}

	var (
		members = make([]etcdMember, count)
		all     []string
	)

	for i := range members {
		all = append(all, fmt.Sprintf("m%d=%s", i, urls[2*i+1]))
	}

	for i := range members {
		client, peer := urls[2*i], urls[2*i+1]

		//program:built what etcdProgram found
		cmd := exec.Command(etcdProgram(t), "--name", fmt.Sprintf("m%d", i), "--data-dir", t.TempDir(), "--listen-client-urls", client,
			"--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(all, ","), "--unsafe-no-fsync", "--log-level", "fatal")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		members[i] = etcdMember{url: client, end: sync.OnceFunc(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})}

		t.Cleanup(members[i].end)
	}

	return members
}

// etcdClient returns a client of one member.
func etcdClient(t *testing.T, url string) *clientv3.Client {
	t.Helper()

	client, err := clientv3.New(clientv3.Config{Context: t.Context(), Endpoints: []string{url}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = client.Close() })

	return client
}

// etcdLeader waits until a member says that another one than before leads, and returns the ids of both.
func etcdLeader(t *testing.T, client *clientv3.Client, before uint64) (own, leader uint64) {
	t.Helper()

	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		status, err := client.Status(ctx, client.Endpoints()[0])

		cancel()

		if err == nil && status.Leader != 0 && status.Leader != before {
			return status.Header.MemberId, status.Leader
		}

		if time.Now().After(deadline) {
			t.Fatalf("no other leader than %x: %v, %v", before, status, err)
		}
	}
}

// TestLeadElsewhere: the leader of a real etcd moves away from a machine with an address, to a member that answers.
func TestLeadElsewhere(t *testing.T) {
	alone := etcdClient(t, startEtcd(t, 1)[0].url)
	etcdLeader(t, alone, 0)

	if moveLeader(t.Context(), alone) {
		t.Error("a single member moved the leader")
	}

	members := startEtcd(t, 3)
	clients := make([]*clientv3.Client, len(members))
	ids := make([]uint64, len(members))

	var leader uint64

	for i, m := range members {
		clients[i] = etcdClient(t, m.url)
		ids[i], leader = etcdLeader(t, clients[i], 0)
	}

	first := slices.Index(ids, leader)

	if moveLeader(t.Context(), clients[(first+1)%3]) {
		t.Error("a member that does not lead moved the leader")
	}

	// The first one that could lead does not answer.
	list, err := clients[first].MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	dead := slices.Index(ids, list.Members[slices.IndexFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.ID != leader })].ID)
	members[dead].end()

	ctx, cancel := context.WithCancel(t.Context())

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		leadElsewhere(ctx, clients[first], time.Millisecond)
	}()

	defer func() {
		cancel()
		<-ended
	}()

	if _, now := etcdLeader(t, clients[3-first-dead], leader); now != ids[3-first-dead] {
		t.Errorf("%x leads, want %x", now, ids[3-first-dead])
	}
}

// TestVIPInEtcd: elections in a real etcd. A machine that goes down hands the address over at once. One that loses its connection to etcd
// does not have the address any more when another one gets it, and another one gets it within five seconds.
func TestVIPInEtcd(t *testing.T) {
	endpoint := startEtcd(t, 1)[0].url

	var (
		machines [3]*machine
		cut      [3]atomic.Bool
		tells    [3]announced
	)

	for i := range machines {
		machines[i] = controlPlane(t, byte(i+1), electAt(endpoint, &cut[i]), &tells[i])
	}

	holder := func() int { return vipHolder(t, machines[:]) }

	machines[0].eventually("a machine has the address", func() bool { return holder() >= 0 })

	first := holder()

	cut[first].Store(true)

	began := time.Now()
	second := -1

	machines[0].eventually("another machine has the address", func() bool {
		now := holder() // which checks that two do not have it at the same time
		if now != first {
			second = now
		}

		return second >= 0
	})

	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the address had no machine for %v", took)
	} else {
		t.Logf("the address moved in %v", took.Round(time.Millisecond))
	}

	cut[first].Store(false)

	began = time.Now()

	if _, err := machines[second].state.Teardown(t.Context(), resource.PointerOf[runtime.LifecycleSpec]("", kubeletServiceID)); err != nil {
		t.Fatal(err)
	}

	machines[0].eventually("a third turn", func() bool { now := holder(); return now >= 0 && now != second })
	t.Logf("the address of a machine that goes down moved in %v", time.Since(began).Round(time.Millisecond))
}

// electAt is Elect by a member of etcd. A connection that is cut is one that no packet passes any more.
func electAt(endpoint string, cut *atomic.Bool) Elect {
	return func(ctx context.Context, _ secrets.EtcdRootSpec, _ secrets.EtcdCertsSpec, key string, fn func(context.Context) error) error {
		client, err := clientv3.New(clientv3.Config{
			Context: ctx, Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, Logger: zap.NewNop(), DialOptions: dialThrough(cut),
		})
		if err != nil {
			return err
		}
		defer client.Close()

		return elect(ctx, client, key, fn)
	}
}

// vipHolder returns the machine that has the address, or -1.
func vipHolder(t *testing.T, machines []*machine) int {
	t.Helper()

	found := -1

	for i, m := range machines {
		if m.hasVIP() {
			if found >= 0 {
				t.Errorf("machines %d and %d have the address", found, i)
			}

			found = i
		}
	}

	return found
}

// TestVIPPowerCut: three machines, each with a member of etcd. When the one with the address loses its power, after the leader has moved away from
// it, another one has the address within five seconds.
func TestVIPPowerCut(t *testing.T) {
	members := startEtcd(t, 3)

	var (
		machines [3]*machine
		cut      [3]atomic.Bool
		tells    [3]announced
	)

	for i, m := range members {
		etcdLeader(t, etcdClient(t, m.url), 0)

		machines[i] = controlPlane(t, byte(i+1), electAt(m.url, &cut[i]), &tells[i])
	}

	machines[0].eventually("a machine has the address", func() bool { return vipHolder(t, machines[:]) >= 0 })

	first := vipHolder(t, machines[:])
	client := etcdClient(t, members[first].url)

	if own, leader := etcdLeader(t, client, 0); own == leader {
		if !moveLeader(t.Context(), client) {
			t.Fatal("the leader did not move")
		}

		etcdLeader(t, client, own)
	}

	began := time.Now()

	cut[first].Store(true)
	members[first].end()

	machines[0].eventually("another machine has the address", func() bool { now := vipHolder(t, machines[:]); return now >= 0 && now != first })

	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the address had no machine for %v", took)
	} else {
		t.Logf("the address moved in %v", took.Round(time.Millisecond))
	}
}

// dialThrough dials connections that stop while cut is set: what was sent is lost.
func dialThrough(cut *atomic.Bool) []grpc.DialOption {
	return []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, at string) (net.Conn, error) {
		if cut.Load() {
			<-ctx.Done()

			return nil, ctx.Err()
		}

		var d net.Dialer

		conn, err := d.DialContext(ctx, "tcp", at)

		return &cutConn{conn, cut}, err
	})}
}

type cutConn struct {
	net.Conn

	cut *atomic.Bool
}

// Write implements net.Conn.
func (c *cutConn) Write(b []byte) (int, error) {
	if c.cut.Load() {
		return len(b), nil
	}

	return c.Conn.Write(b)
}
