// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

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

// startEtcd starts an etcd of one member, and returns the URL for clients.
func startEtcd(t *testing.T) string {
	t.Helper()

	var urls [2]string

	for i := range urls {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		urls[i] = "http://" + l.Addr().String()
		_ = l.Close()
	}

	//program:built what etcdProgram found
	cmd := exec.Command(etcdProgram(t), "--data-dir", t.TempDir(), "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
		"--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1], "--initial-cluster", "default="+urls[1],
		"--unsafe-no-fsync", "--log-level", "fatal")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	return urls[0]
}

// TestVIPInEtcd: elections in a real etcd. A machine that goes down hands the address over at once. One that loses its connection to etcd
// does not have the address any more when another one gets it, and another one gets it within five seconds.
func TestVIPInEtcd(t *testing.T) {
	endpoint := startEtcd(t)

	var (
		machines [3]*machine
		cut      [3]atomic.Bool
		tells    [3]announced
	)

	for i := range machines {
		// A connection that is cut is one that no packet passes any more.
		by := func(ctx context.Context, _ secrets.EtcdRootSpec, _ secrets.EtcdCertsSpec, key string, fn func(context.Context) error) error {
			client, err := clientv3.New(clientv3.Config{
				Context: ctx, Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
				DialOptions: dialThrough(&cut[i]),
			})
			if err != nil {
				return err
			}
			defer client.Close()

			return elect(ctx, client, key, fn)
		}

		machines[i] = controlPlane(t, byte(i+1), by, &tells[i])
	}

	holder := func() int {
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
