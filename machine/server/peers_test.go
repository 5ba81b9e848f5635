// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/service/logring"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// testPeers take the test process for the service that makes the calls.
var testPeers = Peers{
	Service: func(_ context.Context, pid int) string { return map[int]string{os.Getpid(): "apid"}[pid] },
	Roles:   map[string][]string{"apid": contract.Roles()},
}

// callerSocket is the environment variable that makes the test binary call the server on that socket, with all roles.
const callerSocket = "TEST_CALLER_SOCKET"

// TestCaller is that process.
func TestCaller(t *testing.T) {
	socket := os.Getenv(callerSocket)
	if socket == "" {
		t.Skip("run by TestProcesses")
	}

	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	ctx, cancel := context.WithTimeout(as(t.Context(), contract.Roles()...), time.Minute)
	defer cancel()

	client := machine.NewMachineServiceClient(conn)
	_, err = client.Version(ctx, &emptypb.Empty{})
	_, remove := client.EtcdRemoveMemberByID(ctx, &machine.EtcdRemoveMemberByIDRequest{})

	fmt.Printf("version %s, remove %s: %v\n", status.Code(err), status.Code(remove), err)
}

// TestProcesses makes calls from real processes: supervised ones get the roles of their service, and a process of the same user that
// is not supervised is refused.
func TestProcesses(t *testing.T) {
	logs := logring.New(logring.DefaultBytes)

	ctx, cancel := context.WithCancel(context.Background())
	sup := supervisor.New(ctx, slog.New(slog.DiscardHandler), logs, nil)

	t.Cleanup(func() {
		cancel()

		ended(t, sup)
	})

	peers := Peers{
		Service: Supervised(sup),
		Roles:   map[string][]string{"apid": contract.Roles(), "dashboard": {contract.RoleReader}, "backup": {contract.RoleEtcdBackup}},
	}
	g := New(slog.New(slog.DiscardHandler), peers.Options(Authorized(newState(t, true)))...)
	machine.RegisterMachineServiceServer(g, versioned{})

	socket := serveOn(t, g).Target()
	socket = strings.TrimPrefix(socket, "unix:")
	argv := []string{os.Args[0], "-test.run=^TestCaller$", "-test.v"}
	env := append(os.Environ(), callerSocket+"="+socket)

	for _, tt := range []struct{ service, want string }{
		{"apid", "version OK, remove Unimplemented"},
		{"dashboard", "version OK, remove PermissionDenied"},
		{"backup", "version PermissionDenied, remove PermissionDenied"},
		{"etcd", "version PermissionDenied, remove PermissionDenied"}, // a service, but none of those that use the socket
	} {
		err := sup.Apply(supervisor.Service{ID: tt.service, Once: true, Runner: &supervisor.Process{
			Argv: argv, Env: env, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		}})
		if err != nil {
			t.Fatal(err)
		}

		eventually(t, tt.service, func() bool {
			s, _ := sup.Status(tt.service)

			return s.State == supervisor.StateFinished || s.State == supervisor.StateFailed
		})

		if got := logOf(t, logs, tt.service); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %s", tt.service, got, tt.want)
		}
	}

	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = env

	out, err := cmd.CombinedOutput()
	if want := "version PermissionDenied, remove PermissionDenied"; err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "is not a service that may use this socket") {
		t.Errorf("a process without a supervisor: got %s (%v), want %s", out, err, want)
	}
}

// versioned implements one call.
type versioned struct {
	machine.UnimplementedMachineServiceServer
}

func (versioned) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	return &machine.VersionResponse{}, nil
}

func logOf(t *testing.T, logs *logring.Logs, id string) string {
	t.Helper()

	var text strings.Builder

	err := logs.Read(t.Context(), id, -1, false, func(chunk []byte) error {
		text.Write(chunk)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return text.String()
}

// TestWithoutAProcess: a connection without peer credentials has no roles, whatever its metadata.
func TestWithoutAProcess(t *testing.T) {
	md := metadata.Pairs(contract.KeyRole, contract.RoleAdmin)
	ctx := metadata.NewIncomingContext(t.Context(), md)

	for name, ctx := range map[string]context.Context{
		"no peer":         ctx,
		"no credentials":  peer.NewContext(ctx, &peer.Peer{}),
		"others":          peer.NewContext(ctx, &peer.Peer{AuthInfo: insecureInfo{}}),
		"unknown process": peer.NewContext(ctx, &peer.Peer{AuthInfo: Process{PID: 1}}),
	} {
		if roles := rolesFrom(ctx); len(roles) > 0 {
			t.Errorf("%s: got roles %q, want none", name, roles)
		}

		if err := admit(ctx); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v, want PermissionDenied", name, err)
		}
	}

	l := bufconn.Listen(1)
	defer l.Close()

	go l.Dial() // the other end is looked at

	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if _, _, err := (peerCredentials{testPeers, unix.SO_PEERPIDFD}).ServerHandshake(conn); err == nil {
		t.Error("a connection that is not a socket: got no error")
	}

	if _, _, err := (peerCredentials{testPeers, unix.SO_PEERPIDFD}).ClientHandshake(ctx, "", conn); err == nil {
		t.Error("as a client: got no error")
	}
}

type insecureInfo struct{}

func (insecureInfo) AuthType() string { return "insecure" }
