// SPDX-License-Identifier: Apache-2.0

package interop_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// cosid is the server under test, built once.
var cosid string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}

	defer os.RemoveAll(dir)

	cosid = filepath.Join(dir, "cosid")

	build := exec.Command("go", "build", "-o", cosid, "./cmd/cosid")
	build.Dir = "../.."

	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building cosid: %v\n%s", err, out)

		return 1
	}

	stop, err := startEtcd(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting etcd:", err)

		return 1
	}

	defer stop()

	return m.Run()
}

// start runs a server over an empty store and returns a connection to it.
func start(t testing.TB, args ...string) *grpc.ClientConn {
	t.Helper()

	socket := filepath.Join(t.TempDir(), "s")
	//program:built above
	cmd := exec.Command(cosid, append([]string{"--listen", "unix://" + socket}, args...)...)
	cmd.Stderr = os.Stderr

	if testing.Verbose() {
		cmd.Stdout = os.Stdout
	} else {
		cmd.Stderr = nil
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait() // its exit status does not matter
	})

	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close() // only a probe

			break
		}

		if time.Now().After(deadline) {
			t.Fatal("the server does not listen")
		}
	}

	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	return conn
}

// stores are the command lines of servers over empty stores, by store.
var stores = map[string]func(t testing.TB) []string{
	"memory": func(testing.TB) []string { return nil },
	"bolt": func(t testing.TB) []string {
		t.Helper()

		return []string{"--bolt", filepath.Join(t.TempDir(), "db")}
	},
	"etcd": func(t testing.TB) []string {
		t.Helper()

		if etcdEndpoint == "" {
			t.Skip("etcd not found: build the components, or set ETCD to its path")
		}

		return []string{"--etcd", etcdEndpoint, "--etcd-prefix", fmt.Sprint("/test", prefixes.Add(1))}
	},
}

// etcdEndpoint is the etcd server of the tests, empty if there is none.
var (
	etcdEndpoint string
	prefixes     atomic.Int32
)

func startEtcd(dir string) (stop func(), err error) {
	var binary string

	for _, path := range []string{os.Getenv("ETCD"), "../../out/components/bin/etcd", "etcd"} {
		//program:built etcd, unless one is named or installed
		if found, err := exec.LookPath(path); path != "" && err == nil {
			binary = found

			break
		}
	}

	if binary == "" {
		return func() {}, nil
	}

	client, peer := freeAddress(), freeAddress()
	cmd := exec.Command(binary, "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level", "error",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client, "--listen-peer-urls", "http://"+peer,
		"--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)

	if err := cmd.Start(); err != nil {
		return nil, err
	}

	etcdEndpoint = client

	return func() {
		cmd.Process.Kill()
		cmd.Wait()
	}, nil
}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}

	defer l.Close()

	return l.Addr().String()
}
