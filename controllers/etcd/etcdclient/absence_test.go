// SPDX-License-Identifier: Apache-2.0

package etcdclient_test

import (
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
)

// TestAbsence: a machine that is about to go down is not healthy for the others until it runs again, or stays.
func TestAbsence(t *testing.T) {
	ctx := t.Context()
	client, process := runEtcd(t)

	healthy := func(want bool, after string) {
		t.Helper()

		cluster, err := etcdclient.WithoutAbsent(ctx, client, quorum.Cluster{Members: []quorum.Member{{ID: 1, Healthy: true}, {ID: 2, Healthy: true}}})
		if err != nil {
			t.Fatal(err)
		}

		if m, _ := cluster.Find(1); m.Healthy != want {
			t.Errorf("after %s: healthy %t, want %t", after, m.Healthy, want)
		}

		if m, _ := cluster.Find(2); !m.Healthy {
			t.Errorf("after %s: the other member is not healthy", after)
		}
	}

	held := clientv3.Compare(clientv3.CreateRevision("lock"), "=", 0)
	lost := clientv3.Compare(clientv3.CreateRevision("lock"), ">", 0)

	do := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	healthy(true, "nothing")

	if err := etcdclient.Announce(ctx, client, lost, 1, "a"); err == nil {
		t.Error("announced without the lock")
	}

	healthy(true, "the lock was lost")

	do(etcdclient.Announce(ctx, client, held, 1, "a"))
	healthy(false, "it was announced")

	// Its etcd has just become healthy when it is asked to go down again.
	do(etcdclient.Return(ctx, client, 1, "a"))
	healthy(false, "it returned in the life that ends")

	do(etcdclient.Return(ctx, client, 1, "b"))
	healthy(true, "it runs again")

	do(etcdclient.Announce(ctx, client, held, 1, "b"))
	do(etcdclient.Stay(ctx, client, 1, "a"))
	healthy(false, "an earlier life stays")

	do(etcdclient.Stay(ctx, client, 1, "b"))
	healthy(true, "it stays")

	// A machine that is there writes nothing.
	before, err := client.Get(ctx, "x")
	do(err)
	do(etcdclient.Return(ctx, client, 1, "c"))
	do(etcdclient.Stay(ctx, client, 1, "c"))

	after, err := client.Get(ctx, "x")
	do(err)

	if before.Header.Revision != after.Header.Revision {
		t.Errorf("the revision went from %d to %d", before.Header.Revision, after.Header.Revision)
	}

	// An etcd that hangs does not hold the caller.
	do(process.Signal(syscall.SIGSTOP))

	hung := make(chan error, 1)

	go func() {
		var err error
		for err == nil { // until it has stopped
			_, err = etcdclient.WithoutAbsent(ctx, client, quorum.Cluster{})
		}

		hung <- err
	}()

	select {
	case <-hung:
	case <-time.After(15 * time.Second):
		t.Error("an etcd that hangs holds the caller")
	}
}

// runEtcd runs one member on the loopback, without certificates.
func runEtcd(t *testing.T) (*clientv3.Client, *os.Process) {
	t.Helper()

	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()

		return "http://" + l.Addr().String()
	}

	at, peer := free(), free()

	cmd := exec.Command(hosttest.Built(t, "etcd"), "--name=a", "--data-dir="+t.TempDir(), "--listen-client-urls="+at, "--advertise-client-urls="+at,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=a="+peer, "--unsafe-no-fsync", "--log-level=error")
	cmd.Stderr = t.Output()

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{at}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { client.Close() })

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := client.Get(t.Context(), "x"); err == nil {
			return client, cmd.Process
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
