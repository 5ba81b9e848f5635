// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	_ "github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/api/machine"
	_ "github.com/seed-59268b81/talos/api/storage"
	_ "github.com/seed-59268b81/talos/api/time"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/machine/server/servertest"
)

// letters of testdata/roles.txt. Other letters stand for no role.
var letters = map[string]string{
	contract.RoleAdmin: "A", contract.RoleOperator: "O", contract.RoleReader: "R", contract.RoleEtcdBackup: "E", contract.RoleImageVerifier: "V", contract.RoleMetaWriter: "M",
}

// everyRole is every role that a certificate can have, and some that are not valid.
var everyRole = []string{
	contract.RoleAdmin, contract.RoleOperator, contract.RoleReader, contract.RoleEtcdBackup, contract.RoleImageVerifier, contract.RoleMetaWriter,
	"os:impersonator", "", "OS:ADMIN", "os:admin ", "admin", "os:", "*",
}

// readTable returns the letters of each method.
func readTable(t *testing.T) map[string]string {
	t.Helper()

	text, err := os.ReadFile("testdata/roles.txt")
	if err != nil {
		t.Fatal(err)
	}

	table := map[string]string{}

	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}

		method, who, ok := strings.Cut(strings.TrimSpace(line), " ")
		if _, twice := table[method]; !ok || twice {
			t.Fatalf("testdata/roles.txt: line %q", line)
		}

		table[method] = who
	}

	return table
}

// may reports whether the table allows a call to a caller with some roles.
func may(who string, configured bool, roles ...string) bool {
	if strings.Contains(who, "r") && !configured {
		who += "R"
	}

	return slices.ContainsFunc(roles, func(role string) bool { return letters[role] != "" && strings.Contains(who, letters[role]) })
}

// services returns the services of the API, as its packages describe them.
func services(t *testing.T) []protoreflect.ServiceDescriptor {
	t.Helper()

	var all []protoreflect.ServiceDescriptor

	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		switch file.Package() {
		case "machine", "storage", "time", "inspect", "cluster", "trial", "cosi.resource":
			for i := range file.Services().Len() {
				all = append(all, file.Services().Get(i))
			}
		}

		return true
	})

	return all
}

// TestRulesAreWhole compares the rules with the API: every call has exactly one rule, and a new call fails here until it has one.
func TestRulesAreWhole(t *testing.T) {
	var described, ruled []string

	for _, service := range services(t) {
		for i := range service.Methods().Len() {
			described = append(described, fmt.Sprintf("%s/%s", service.FullName(), service.Methods().Get(i).Name()))
		}
	}

	for method := range rules {
		ruled = append(ruled, strings.TrimPrefix(method, "/"))
	}

	slices.Sort(described)
	slices.Sort(ruled)

	if !slices.Equal(described, ruled) {
		t.Errorf("rules: got %q, want those of %q", ruled, described)
	}

	if table := slices.Sorted(maps.Keys(readTable(t))); !slices.Equal(table, described) {
		t.Errorf("testdata/roles.txt: got %q, want %q", table, described)
	}

	for method := range unconfigured {
		if rules[method] == nil {
			t.Errorf("unconfigured has %s, which has no rule", method)
		}
	}

	g := grpc.NewServer()
	(&Server{}).Register(g)

	for service, info := range g.GetServiceInfo() {
		for _, method := range info.Methods {
			if name := service + "/" + method.Name; !slices.Contains(described, name) {
				t.Errorf("the server has %s, which is not among %q", name, described)
			}
		}
	}
}

// TestEverySetOfRoles checks the rules for every method and every set of roles.
func TestEverySetOfRoles(t *testing.T) {
	table := readTable(t)
	candidates := append(contract.Roles(), "os:impersonator", "OS:ADMIN")

	for _, configured := range []bool{false, true} {
		st := newState(t, configured)
		count := 0

		for method, who := range table {
			for set := range 1 << len(candidates) {
				var roles []string

				for i, role := range candidates {
					if set&(1<<i) != 0 {
						roles = append(roles, role)
					}
				}

				err := authorize(calledWith(t.Context(), roles...), st, "/"+method)
				if got, want := err == nil, may(who, configured, roles...); got != want {
					t.Fatalf("%s as %q, configured %t: allowed is %t, want %t (%v)", method, roles, configured, got, want, err)
				}

				count++
			}
		}

		t.Logf("configured %t: %d methods, %d sets of roles, %d decisions", configured, len(table), 1<<len(candidates), count)
	}

	for _, method := range []string{"/machine.MachineService/New", "/new.Service/Get", "", "/"} {
		for _, role := range everyRole {
			if got, want := authorize(calledWith(t.Context(), role), newState(t, true), method) == nil, role == contract.RoleAdmin; got != want {
				t.Errorf("%q, which has no rule, as %q: allowed is %t, want %t", method, role, got, want)
			}
		}
	}
}

// calledWith returns a handler's context for a call of apid with the roles.
func calledWith(ctx context.Context, roles ...string) context.Context {
	md := metadata.MD{}
	md.Set(contract.KeyRole, roles...)

	ctx = metadata.NewIncomingContext(ctx, md)

	return peer.NewContext(ctx, &peer.Peer{AuthInfo: Process{Service: "apid", Roles: contract.Roles(), known: true}})
}

// newState returns the state of a machine with or without a configuration.
func newState(t *testing.T, configured bool) state.State {
	t.Helper()

	b := &bench{Server: &Server{State: memory.New()}}
	b.define(t)

	if configured {
		configure(t, b, configtest.ControlPlane(t))
	}

	return b.State
}

// TestEveryMethodForEveryRole makes every call over a real socket, unary and stream, with each role: an allowed call reaches the
// handler or is answered as unsupported, every other one is PermissionDenied.
func TestEveryMethodForEveryRole(t *testing.T) {
	table := readTable(t)

	for _, configured := range []bool{false, true} {
		conn := serveAll(t, newState(t, configured))

		for _, service := range services(t) {
			for i := range service.Methods().Len() {
				method := service.Methods().Get(i)
				name := fmt.Sprintf("%s/%s", service.FullName(), method.Name())

				for _, role := range append([]string{"-"}, everyRole...) {
					want := codes.PermissionDenied
					if may(table[name], configured, role) {
						want = status.Code(unsupported["/"+name])
					}

					ctx := t.Context()
					if role != "-" {
						ctx = as(ctx, role)
					}

					if err := call(ctx, conn, "/"+name, method.IsStreamingClient() || method.IsStreamingServer()); status.Code(err) != want {
						t.Errorf("%s as %q, configured %t: got %v, want %v", name, role, configured, err, want)
					}
				}
			}
		}
	}
}

func call(ctx context.Context, conn *grpc.ClientConn, method string, streaming bool) error {
	if !streaming {
		return conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{})
	}

	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}

	if err := stream.RecvMsg(&emptypb.Empty{}); err != io.EOF { // as the stream says
		return err
	}

	return nil
}

// serveAll serves every service of the API, with empty handlers, behind the interceptors of machined's socket.
func serveAll(t *testing.T, st state.State) *grpc.ClientConn {
	t.Helper()

	g := New(slog.New(slog.DiscardHandler), testPeers.Options(Authorized(st))...)

	for _, service := range services(t) {
		desc := &grpc.ServiceDesc{ServiceName: string(service.FullName()), HandlerType: (*any)(nil)}

		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			name := string(method.Name())

			if method.IsStreamingClient() || method.IsStreamingServer() {
				desc.Streams = append(desc.Streams, grpc.StreamDesc{
					StreamName: name, ServerStreams: true, ClientStreams: true, Handler: func(any, grpc.ServerStream) error { return nil },
				})

				continue
			}

			desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name, Handler: nothing(desc.ServiceName + "/" + name)})
		}

		g.RegisterService(desc, new(any))
	}

	return serveOn(t, g)
}

func nothing(name string) grpc.MethodHandler {
	return func(srv any, ctx context.Context, _ func(any) error, next grpc.UnaryServerInterceptor) (any, error) {
		return next(ctx, &emptypb.Empty{}, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/" + name}, func(context.Context, any) (any, error) {
			return &emptypb.Empty{}, nil
		})
	}
}

// serveOn serves on a unix socket.
func serveOn(t *testing.T, g *grpc.Server) *grpc.ClientConn {
	t.Helper()

	l, err := Listen(filepath.Join(t.TempDir(), "all.sock"), 0o600, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}

	return servertest.Serve(t, g, l)
}

// TestRulesAreInPlace makes a unary call and a stream, which shows that the server applies the rules above.
func TestRulesAreInPlace(t *testing.T) {
	b := newBench(t)

	for _, tt := range []struct {
		role string
		want codes.Code
	}{{contract.RoleAdmin, codes.OK}, {contract.RoleReader, codes.OK}, {contract.RoleEtcdBackup, codes.PermissionDenied}} {
		if _, err := b.machine.Version(as(t.Context(), tt.role), &emptypb.Empty{}); status.Code(err) != tt.want {
			t.Errorf("Version as %s: got %v, want %v", tt.role, err, tt.want)
		}
	}

	stream, err := b.machine.Kubeconfig(as(t.Context(), contract.RoleOperator), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	_, err = stream.Recv()
	want := "machine.MachineService/Kubeconfig: it requires one of the roles os:admin, the caller has [os:operator]"

	if s := status.Convert(err); s.Code() != codes.PermissionDenied || s.Message() != want {
		t.Errorf("got %v, want PermissionDenied: %s", err, want)
	}
}

// TestPanicIsOneCallsError makes a call dereference a nil pointer.
func TestPanicIsOneCallsError(t *testing.T) {
	b := newBench(t)
	b.Server.Ring = nil

	stream, err := b.machine.Events(as(t.Context(), contract.RoleReader), &machine.EventsRequest{TailEvents: 1})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.Recv(); status.Code(err) != codes.Internal || !strings.Contains(fmt.Sprint(err), "machine.MachineService/Events failed in the server") {
		t.Errorf("got %v, want Internal", err)
	}

	if _, err := b.machine.Version(as(t.Context(), contract.RoleReader), &emptypb.Empty{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
