// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logind

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// listen serves a bus until the test ends.
func listen(t *testing.T) (*Bus, string) {
	t.Helper()

	path := filepath.Join(t.TempDir(), "dbus", "system_bus_socket")

	b, err := Listen(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	go func() { ended <- b.Serve(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return b, path
}

func connect(t *testing.T, path string) *dbus.Conn {
	t.Helper()

	conn, err := dbus.Connect("unix:path=" + path)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() }) // the bus may have closed it

	return conn
}

// lock takes an inhibitor lock as the kubelet does.
func lock(conn *dbus.Conn) (int, error) {
	var fd dbus.UnixFD

	err := conn.Object(managerName, managerPath).
		Call(managerInterface+".Inhibit", 0, "shutdown", "kubelet", "it has to end pods", "delay").Store(&fd)

	return int(fd), err
}

// watch requests the signal as the kubelet does.
func watch(t *testing.T, conn *dbus.Conn) <-chan *dbus.Signal {
	t.Helper()

	if err := conn.AddMatchSignal(
		dbus.WithMatchInterface(managerInterface), dbus.WithMatchMember("PrepareForShutdown"), dbus.WithMatchObjectPath(managerPath),
	); err != nil {
		t.Fatal(err)
	}

	signals := make(chan *dbus.Signal, 1)
	conn.Signal(signals)

	return signals
}

// TestShutdown does what k8s.io/kubernetes/pkg/kubelet/nodeshutdown/systemd does.
func TestShutdown(t *testing.T) {
	bus, path := listen(t)
	conn := connect(t, path)

	delay, err := conn.Object(managerName, managerPath).GetProperty(managerInterface + ".InhibitDelayMaxUSec")
	if err != nil {
		t.Fatal(err)
	}

	if got, ok := delay.Value().(uint64); !ok || got < uint64(time.Hour.Microseconds()) {
		t.Errorf("the delay is %v, which a kubelet with a longer grace period refuses", delay)
	}

	fd, err := lock(conn)
	if err != nil {
		t.Fatal(err)
	}

	signals := watch(t, conn)
	deaf := connect(t, path) // has requested no signal

	unwanted := make(chan *dbus.Signal, 1)
	deaf.Signal(unwanted)

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	if err := bus.PrepareForShutdown(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "kubelet (it has to end pods)") {
		t.Fatalf("a lock is held: got %v", err)
	}

	signal := <-signals
	if len(signal.Body) != 1 || signal.Body[0] != true || signal.Sender != managerName {
		t.Errorf("got the signal %+v", signal)
	}

	if _, err := lock(conn); err == nil || !strings.Contains(err.Error(), errPreparing.Error()) {
		t.Errorf("a lock that comes too late: got %v", err)
	}

	done := make(chan error, 1)

	go func() { done <- bus.PrepareForShutdown(t.Context()) }()

	if err := syscall.Close(fd); err != nil {
		t.Fatal(err)
	}

	if err := <-done; err != nil {
		t.Error(err)
	}

	select {
	case s := <-unwanted:
		t.Errorf("a client that requested no signal got %v", s)
	default:
	}
}

// TestNobody: without a kubelet, or after it crashed, nothing is delayed.
func TestNobody(t *testing.T) {
	bus, path := listen(t)

	conn, err := dbus.Connect("unix:path=" + path)
	if err != nil {
		t.Fatal(err)
	}

	fd, err := lock(conn)
	if err != nil {
		t.Fatal(err)
	}

	// The kernel does the same when the process ends.
	if err := errors.Join(conn.Close(), syscall.Close(fd)); err != nil {
		t.Fatal(err)
	}

	if err := bus.PrepareForShutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	_, path := listen(t)
	conn := connect(t, path)

	for _, tt := range []struct {
		name, method string
		args         []any
		want         string
	}{
		{"an unknown method", managerInterface + ".PowerOff", []any{true}, "unknown method org.freedesktop.login1.Manager.PowerOff"},
		{"a lock that blocks", managerInterface + ".Inhibit", []any{"shutdown", "w", "y", "block"}, "got shutdown with mode block"},
		{"a lock on sleep", managerInterface + ".Inhibit", []any{"sleep", "w", "y", "delay"}, "got sleep with mode delay"},
		{"too few arguments", managerInterface + ".Inhibit", []any{"shutdown"}, "want 4 strings"},
		{"other arguments", managerInterface + ".Inhibit", []any{1, 2, 3, 4}, "want 4 strings"},
		{"an unknown property", busInterface + ".Properties.Get", []any{managerInterface, "IdleHint"}, "unknown property"},
		{"a rule that is none", busInterface + ".AddMatch", []any{"because"}, "not supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := conn.Object(managerName, managerPath).Call(tt.method, 0, tt.args...).Err
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}

	// The client is still served.
	if err := conn.BusObject().Call(busInterface+".Peer.Ping", 0).Err; err != nil {
		t.Error(err)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	_, path := listen(t)

	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}

	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("the folder has mode %o", got)
	}
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		rule string
		want bool
	}{
		{"", true},
		{"type='signal',interface='org.freedesktop.login1.Manager',member='PrepareForShutdown',path='/org/freedesktop/login1'", true},
		{"type='signal',sender='org.freedesktop.login1'", true},
		{"interface=org.freedesktop.login1.Manager", true},
		{"type='method_call'", false},
		{"member='PrepareForSleep'", false},
		{"path='/'", false},
	} {
		r, err := parseRule(tt.rule)
		if got := r.matches(managerInterface, "PrepareForShutdown", managerPath); err != nil || got != tt.want {
			t.Errorf("%q: got %v (%v), want %v", tt.rule, got, err, tt.want)
		}
	}
}

// FuzzPeer: whatever a client sends can only end its connection.
func FuzzPeer(f *testing.F) {
	hello := "\x00AUTH EXTERNAL 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"

	f.Add([]byte(hello))
	f.Add([]byte("\x00AUTH\r\nDATA\r\nCANCEL\r\n"))
	f.Add([]byte(hello + "l\x01\x00\x01\xff\xff\xff\x7f\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte(hello + "l\x01\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00n\x00\x00\x00\x01\x01o\x00\x15\x00\x00\x00/org/freedesktop/DBus\x00\x00\x00"))

	f.Fuzz(func(t *testing.T, sent []byte) {
		client, server := pair(t)
		b := &Bus{
			log: slog.New(slog.DiscardHandler), peers: map[*peer]bool{}, inhibitors: map[*inhibitor]bool{}, released: make(chan struct{}),
		}
		ended := make(chan error, 1)

		go func() { ended <- (&peer{bus: b, conn: server}).serve() }()
		go io.Copy(io.Discard, client) // it ends with the connection

		if _, err := client.Write(sent); err == nil {
			client.CloseWrite() // the server may have closed it
		}

		if err := <-ended; err == nil {
			t.Error("it ended without a reason")
		}

		client.Close()
	})
}

// pair of connected sockets.
func pair(t *testing.T) (client, server *net.UnixConn) {
	t.Helper()

	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}

	var out [2]*net.UnixConn

	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "pair")

		conn, err := net.FileConn(file)
		if err != nil {
			t.Fatal(err)
		}

		if err := file.Close(); err != nil {
			t.Fatal(err)
		}

		unixConn, ok := conn.(*net.UnixConn)
		if !ok {
			t.Fatalf("got a %T", conn)
		}

		out[i] = unixConn
	}

	return out[0], out[1]
}
