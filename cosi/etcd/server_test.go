// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// server is an etcd of one member.
type server struct {
	path, client, peer string // of the program; URLs
	cmd                *exec.Cmd
}

// binary finds a program of etcd: in the directory of $ETCD, built by this project, or installed.
func binary(name string) string {
	named := ""
	if etcd := os.Getenv("ETCD"); etcd != "" {
		named = filepath.Join(filepath.Dir(etcd), name)
	}

	for _, path := range []string{named, "../../out/components/bin/" + name, name} {
		//program:built etcd, unless one is named or installed
		if found, err := exec.LookPath(path); path != "" && err == nil {
			return found
		}
	}

	return ""
}

func newServer() *server { return &server{path: binary("etcd"), client: freePort(), peer: freePort()} }

func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}

	defer l.Close()

	return "http://" + l.Addr().String()
}

func (s *server) endpoint() string { return strings.TrimPrefix(s.client, "http://") }

// start starts it on a directory.
func (s *server) start(data string) error {
	//program:built what binary found
	s.cmd = exec.Command(s.path, "--data-dir", data, "--listen-client-urls", s.client, "--advertise-client-urls", s.client,
		"--listen-peer-urls", s.peer, "--initial-advertise-peer-urls", s.peer, "--initial-cluster", "default="+s.peer,
		"--unsafe-no-fsync", "--log-level", "fatal")

	return s.cmd.Start()
}

// ownServer starts a server for a test that would break a shared one.
func ownServer(t testing.TB, data string) *server {
	t.Helper()
	missing(t, "etcd")

	s := newServer()
	ok(t, s.start(data))
	t.Cleanup(s.kill)

	return s
}

func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// restore creates a directory from a snapshot. The cluster keeps its identity, which makes the restore hard to notice.
func (s *server) restore(snapshot, data string) error {
	//program:built what binary found
	out, err := exec.Command(binary("etcdutl"), "snapshot", "restore", snapshot, "--data-dir", data,
		"--initial-cluster", "default="+s.peer, "--initial-advertise-peer-urls", s.peer).CombinedOutput()
	if err != nil {
		return fmt.Errorf("restore: %w: %s", err, out)
	}

	return nil
}

// missing skips a test without programs of etcd.
func missing(t testing.TB, names ...string) {
	t.Helper()

	for _, name := range names {
		switch {
		case binary(name) != "":
		case os.Getenv("TALOS_E2E") != "": // make test has built them
			t.Fatalf("%s: not found", name)
		default:
			t.Skipf("%s: not found: run make build, or set ETCD to an etcd in the same directory", name)
		}
	}
}

// dialTo returns a client that is quick to connect again.
func dialTo(t testing.TB, endpoint string, opts ...grpc.DialOption) *clientv3.Client {
	t.Helper()

	quick := grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, MaxDelay: 100 * time.Millisecond},
		MinConnectTimeout: time.Second,
	})

	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop(), DialOptions: append(opts, quick),
	})
	ok(t, err)
	t.Cleanup(func() { client.Close() })

	return client
}
