// SPDX-License-Identifier: Apache-2.0

package interop_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary

	cosid = filepath.Join(dir, "cosid")

	build := exec.Command("go", "build", "-o", cosid, "./cmd/cosid")
	build.Dir = "../.."

	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building cosid: %v\n%s", err, out)

		return 1
	}

	return m.Run()
}

// start runs a server over an empty store and returns a connection to it.
func start(t testing.TB, args ...string) *grpc.ClientConn {
	t.Helper()

	socket := filepath.Join(t.TempDir(), "s")
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
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
		cmd.Wait()                       //nolint:errcheck // how it ends is of no interest here
	})

	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close() //nolint:errcheck // it was a probe

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

	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the end

	return conn
}

// stores are the command lines of servers over empty stores, by store.
var stores = map[string]func(t testing.TB) []string{
	"memory": func(testing.TB) []string { return nil },
	"bolt": func(t testing.TB) []string {
		t.Helper()

		return []string{"--bolt", filepath.Join(t.TempDir(), "db")}
	},
}
