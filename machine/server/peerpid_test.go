// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/api/contract"
)

// connectorSocket is the environment variable that makes the test binary connect to that socket, and wait for the end of its input.
const connectorSocket = "TEST_CONNECTOR_SOCKET"

// TestConnector is that process.
func TestConnector(t *testing.T) {
	socket := os.Getenv(connectorSocket)
	if socket == "" {
		t.Skip("run by TestReusedProcess")
	}

	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	_, _ = os.Stdin.Read(make([]byte, 1))
}

// TestReusedProcess: a process that ends while its service is looked up is unknown, also if another one has its id by then. That
// is so with a kernel that has a descriptor of the process for the socket, and with one before 6.5, which the test imitates by an option that
// no kernel has.
func TestReusedProcess(t *testing.T) {
	for name, option := range map[string]int{"now": unix.SO_PEERPIDFD, "before 6.5": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			for what, meanwhile := range map[string]func(*testing.T, *exec.Cmd){
				"it lives": func(*testing.T, *exec.Cmd) {},
				"it ended": end,
				"its id is reused": func(t *testing.T, cmd *exec.Cmd) {
					end(t, cmd)
					reuse(t, cmd.Process.Pid)
				},
			} {
				t.Run(what, func(t *testing.T) {
					if got, want := knows(t, option, meanwhile), what == "it lives"; got != want {
						t.Errorf("got known: %v, want %v", got, want)
					}
				})
			}
		})
	}
}

// knows connects a process, and reports whether it is known although something happens while its service is looked up.
func knows(t *testing.T, option int, meanwhile func(*testing.T, *exec.Cmd)) bool {
	t.Helper()

	socket := filepath.Join(t.TempDir(), "s")

	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConnector$")
	cmd.Env = append(os.Environ(), connectorSocket+"="+socket)

	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { end(t, cmd) })

	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	peers := Peers{Roles: map[string][]string{"apid": {contract.RoleAdmin}}, Service: func(_ context.Context, pid int) string {
		if pid != cmd.Process.Pid {
			t.Errorf("got process %d, want %d", pid, cmd.Process.Pid)
		}

		meanwhile(t, cmd)

		return "apid"
	}}

	_, info, err := (peerCredentials{peers, option}).ServerHandshake(conn)
	if err != nil {
		t.Fatal(err)
	}

	return info.(Process).known
}

// end ends a process, once.
func end(_ *testing.T, cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// reuse starts another process with an id.
func reuse(t *testing.T, pid int) {
	t.Helper()

	for range 100 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Skipf("the id of the next process cannot be set: %v", err)
		}

		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { end(t, cmd) })

		if cmd.Process.Pid == pid {
			return
		}
	}

	t.Skip("other processes start: the id could not be reused")
}

// TestStartedBy compares a process that starts after a time, as one with a reused id.
func TestStartedBy(t *testing.T) {
	before, err := sinceBoot()
	if err != nil {
		t.Fatal(err)
	}

	time.Sleep(3 * tick)

	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { end(t, cmd) })

	after, err := sinceBoot()
	if err != nil {
		t.Fatal(err)
	}

	if startedBy(cmd.Process.Pid, before) {
		t.Error("before its start: got true")
	}

	if !startedBy(cmd.Process.Pid, after) {
		t.Error("after its start: got false")
	}

	end(t, cmd)

	if startedBy(cmd.Process.Pid, after) {
		t.Error("it ended: got true")
	}
}

func TestStartOf(t *testing.T) {
	rest := " S" + strings.Repeat(" 1", 18)

	for stat, want := range map[string]time.Duration{
		"7 (apid)" + rest + " 250 99 1\n":         2500 * time.Millisecond,
		"7 (a) S 1 (b) c)" + rest + " 250 99 1\n": 2500 * time.Millisecond,
		"7 (apid)" + rest + " 0\n":                0,
		"7 (apid)" + rest + "\n":                  -1,
		"7 (apid)" + rest + " -2 99\n":            -1,
		"7 (apid)" + rest + " x 99\n":             -1,
		"":                                        -1,
	} {
		got, err := startOf([]byte(stat))
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: got %v, %v, want %v", stat, got, err, want)
		}
	}
}
