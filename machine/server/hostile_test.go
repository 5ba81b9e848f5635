// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
)

// Limits for the growth of the serving process, in MiB: for one call, and for 64 concurrent ones.
const (
	growthOfOne  = 48
	growthOfMany = 128
	atOnce       = 64
)

// hostileServer is the environment variable that makes the test binary serve machined's API until its input ends.
const hostileServer = "TEST_HOSTILE_SERVER"

// TestHostileServer is that process. For each line of input it frees unused memory.
func TestHostileServer(t *testing.T) {
	if os.Getenv(hostileServer) == "" {
		t.Skip("run by TestMemoryOfHostileCalls")
	}

	testPeers.Service = func(context.Context, int) string { return "apid" } // the calls come from another process

	b := newBench(t)
	b.runConfig(t)

	fmt.Printf("\nsocket %s\n", strings.TrimPrefix(b.conn.Target(), "unix:"))

	for in := make([]byte, 1); ; {
		if n, _ := os.Stdin.Read(in); n == 0 {
			return
		}

		debug.FreeOSMemory()
		fmt.Println("freed")
	}
}

// process1 is a process that serves the API, with a connection to it.
type process1 struct {
	*grpc.ClientConn

	pid   int
	freed func(t *testing.T)
}

func startServer(t *testing.T) process1 {
	t.Helper()

	cmd := exec.CommandContext(context.Background(), os.Args[0], "-test.run=^TestHostileServer$")
	cmd.Env = append(os.Environ(), hostileServer+"=1", "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()

	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		in.Close() // it ends by that
		cmd.Process.Kill()
		cmd.Wait() // killed
	})

	lines := bufio.NewScanner(out)
	line := func(start string) string {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), start); ok {
				return rest
			}
		}

		t.Fatalf("the server has ended: %v", lines.Err())

		return ""
	}

	conn, err := grpc.NewClient("unix:"+line("socket "), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	return process1{ClientConn: conn, pid: cmd.Process.Pid, freed: func(t *testing.T) {
		t.Helper()

		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}

		line("freed")
	}}
}

// growth returns the largest growth of the server's memory during fn, in MiB.
func (s process1) growth(t *testing.T, fn func()) int {
	t.Helper()

	s.freed(t)

	// proc_pid_clear_refs(5): reset the peak to the present value.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.pid), []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}

	before := s.peak(t)

	fn()

	return (s.peak(t) - before) >> 10
}

func (s process1) peak(t *testing.T) (kib int) {
	t.Helper()

	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}

	if kib == 0 {
		t.Fatal("the server has ended")
	}

	return kib
}

// raw passes messages through as bytes.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil // the calls below
}
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }
func (raw) Name() string                         { return "proto" }

// field repeats one field of a message up to the given size.
func field(number protowire.Number, value string, size int) []byte {
	one := protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)

	return bytes.Repeat(one, max(1, size/len(one)))
}

// hostileCalls are the most expensive calls that a caller can make.
var hostileCalls = []struct {
	name, role, method string
	message            []byte
	want               codes.Code
}{
	{"31 MiB of a caller without a role", "none", "/storage.StorageService/BlockDeviceWipe", field(1, "", 31<<20), codes.PermissionDenied},
	{"31 MiB of a caller with another role", contract.RoleEtcdBackup, "/storage.StorageService/BlockDeviceWipe", field(1, "", 31<<20), codes.PermissionDenied},
	{"31 MiB of a reader", contract.RoleReader, "/storage.StorageService/BlockDeviceWipe", field(1, "", 31<<20), codes.ResourceExhausted},
	{"the largest message of a reader", contract.RoleReader, "/storage.StorageService/BlockDeviceWipe", field(1, "", maxRequest), codes.Internal},
	{"the largest that is decoded", contract.RoleReader, "/storage.StorageService/BlockDeviceWipe", field(1, "", maxSmall), codes.NotFound},
	{"many paths", contract.RoleReader, "/machine.MachineService/DiskUsage", field(1, "", maxSmall), codes.InvalidArgument},
	{"many labels", contract.RoleReader, "/cosi.resource.State/Watch", field(4, "\x12\x00", maxSmall), codes.PermissionDenied},
	{"an expression with repetitions", contract.RoleReader, "/cosi.resource.State/List", list(strings.Repeat("(.{1,9}){100}", 1000)), codes.InvalidArgument},
	{"a configuration of commas", contract.RoleReader, applyMethod, field(1, "["+strings.Repeat("a,", 511<<10), 1<<20), codes.InvalidArgument},
	{"a configuration of brackets", contract.RoleReader, applyMethod, field(1, strings.Repeat("[", 1<<20-64), 1<<20), codes.InvalidArgument},
	{"a configuration of dashes", contract.RoleReader, applyMethod, field(1, strings.Repeat("- ", 511<<10), 1<<20), codes.InvalidArgument},
	{"a configuration of lines", contract.RoleReader, applyMethod, field(1, strings.Repeat("\n-", 511<<10), 1<<20), codes.InvalidArgument},
	{"a configuration with the maximum of values", contract.RoleReader, applyMethod, field(1, "["+strings.Repeat("abc, ", 14_990), 1), codes.InvalidArgument},
	{"a configuration of documents", contract.RoleReader, applyMethod, field(1, strings.Repeat("---\na: 1\n", 3_700), 1), codes.InvalidArgument},
}

const applyMethod = "/machine.MachineService/ApplyConfiguration"

// list returns a request for the resources whose id matches an expression.
func list(expr string) []byte {
	m, err := proto.Marshal(&cosiapi.ListRequest{
		Namespace: "network", Type: "HostnameStatuses.net.talos.dev", Options: &cosiapi.ListOptions{IdQuery: &cosiapi.IDQuery{Regexp: expr}},
	})
	if err != nil {
		panic(err)
	}

	return m
}

// TestMemoryOfHostileCalls makes each call alone, and 64 at once, to a process that serves machined's API. On a machine that is
// process 1, whose memory everything depends on.
func TestMemoryOfHostileCalls(t *testing.T) {
	if raced() {
		t.Skip("the race detector needs memory of its own")
	}

	s := startServer(t)
	most, mostOfMany := 0, 0

	for _, c := range hostileCalls {
		call := func() {
			ctx, cancel := context.WithTimeout(as(t.Context(), c.role), 5*time.Minute)
			defer cancel()

			stream, err := s.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.method)
			if err == nil {
				_ = stream.SendMsg(&c.message) // the answer says
				_ = stream.CloseSend()
				err = stream.RecvMsg(new([]byte))
			}

			if got := status.Code(err); got != c.want && (got != codes.ResourceExhausted || !strings.Contains(err.Error(), "try again")) {
				t.Errorf("%s: got %.300v, want %v", c.name, err, c.want)
			}
		}

		one := s.growth(t, call)

		// The first call of a kind also loads code and fills pools.
		many := s.growth(t, func() {
			var wait sync.WaitGroup
			for range atOnce {
				wait.Go(call)
			}

			wait.Wait()
		})

		t.Logf("%-50s one call %3d MiB, %d at once %3d MiB", c.name, one, atOnce, many)

		if most, mostOfMany = max(most, one), max(mostOfMany, many); one > growthOfOne || many > growthOfMany {
			t.Errorf("%s: the server grew by %d MiB, and by %d MiB with %d at once; want at most %d and %d", c.name, one, many, atOnce, growthOfOne, growthOfMany)
		}
	}

	t.Logf("memory of one hostile call: %d MiB (limit %d); of %d at once: %d MiB (limit %d)", most, growthOfOne, atOnce, mostOfMany, growthOfMany)
}

// received counts the headers and messages that gRPC has decoded.
type received struct{ bytes atomic.Int64 }

func (r *received) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.InHeader:
		r.bytes.Add(int64(s.WireLength))
	case *stats.InPayload:
		r.bytes.Add(int64(s.Length))
	}
}

func (*received) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*received) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*received) HandleConn(context.Context, stats.ConnStats)                       {}

// TestNothingIsDecodedBeforeItIsAuthorized sends calls that are not allowed, unary and stream, small and large.
func TestNothingIsDecodedBeforeItIsAuthorized(t *testing.T) {
	r := &received{}
	g := New(slog.New(slog.DiscardHandler), append(testPeers.Options(Authorized(newState(t, true))), grpc.StatsHandler(r))...)
	(&Server{}).Register(g)

	conn := serveOn(t, g)

	for _, size := range []int{100, 1 << 10, maxRequest, 31 << 20} {
		for _, method := range []string{"/storage.StorageService/BlockDeviceWipe", applyMethod, "/machine.MachineService/EtcdRecover"} {
			for _, role := range []string{contract.RoleReader, "none"} {
				message := field(1, "x", size)

				stream, err := conn.NewStream(as(t.Context(), role), &grpc.StreamDesc{ClientStreams: true}, method, grpc.ForceCodecV2(raw{}))
				if err != nil {
					t.Fatal(err)
				}

				_ = stream.SendMsg(&message) // the answer says

				if err := stream.RecvMsg(new([]byte)); status.Code(err) != codes.PermissionDenied {
					t.Errorf("%s as %s, %d bytes: got %v, want PermissionDenied", method, role, size, err)
				}
			}
		}
	}

	got := r.bytes.Load()
	t.Logf("bytes decoded before authorization: %d of messages, at most %d of a header (limit 65536)", got, maxHeader)

	if got > 0 {
		t.Errorf("got %d bytes decoded before authorization, want none", got)
	}

	// A larger header ends the call.
	ctx := metadata.AppendToOutgoingContext(as(t.Context(), contract.RoleAdmin), "long", strings.Repeat("x", maxHeader))
	if err := conn.Invoke(ctx, "/machine.MachineService/Version", &emptypb.Empty{}, &emptypb.Empty{}); err == nil {
		t.Errorf("a header of more than %d bytes: got no error", maxHeader)
	}
}

// TestCallsAreBounded: readers follow as many logs as they can, and an administrator can still make a call.
func TestCallsAreBounded(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())

	for range maxCallsOthers {
		if _, err := b.machine.Events(as(ctx, contract.RoleReader), &machine.EventsRequest{}); err != nil {
			t.Fatal(err)
		}
	}

	eventually(t, "readers to be refused", func() bool {
		_, err := b.machine.Version(as(t.Context(), contract.RoleReader), &emptypb.Empty{})

		return status.Code(err) == codes.ResourceExhausted
	})

	if _, err := b.machine.Version(as(t.Context(), contract.RoleAdmin), &emptypb.Empty{}); err != nil {
		t.Errorf("an administrator: %v", err)
	}

	cancel()
	eventually(t, "room for readers", func() bool {
		_, err := b.machine.Version(as(t.Context(), contract.RoleReader), &emptypb.Empty{})

		return err == nil
	})
}

// raced reports whether the race detector is on.
func raced() bool {
	info, ok := debug.ReadBuildInfo()

	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
