// SPDX-License-Identifier: Apache-2.0

package clusterstate_test

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) {
	if err := clusterstateres.Register(); err != nil {
		panic(err)
	}

	leak.Main(m)
}

func ok(t testing.TB, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// until waits for a value.
func until(t testing.TB, what string, read func() (string, error), want string) {
	t.Helper()

	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		got, err := read()
		if err == nil && got == want {
			return
		}

		if time.Since(began) > 30*time.Second {
			t.Fatalf("%s: got %q, %v; want %q", what, got, err, want)
		}
	}
}

// startEtcd starts an etcd of one member without TLS, and returns its endpoint.
func startEtcd(t testing.TB) string {
	t.Helper()

	program := hosttest.Built(t, "etcd")
	client, peer := freePort(t), freePort(t)

	//program:built a result of the build
	cmd := exec.Command(program, "--data-dir", t.TempDir(), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--unsafe-no-fsync", "--log-level", "fatal")
	ok(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})

	return client
}

func freePort(t testing.TB) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)

	defer l.Close()

	return fmt.Sprintf("http://%s", l.Addr())
}

func dial(t testing.TB, endpoint string) *clientv3.Client {
	t.Helper()

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	ok(t, err)
	t.Cleanup(func() { client.Close() })

	return client
}
