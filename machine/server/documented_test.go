// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/platform"
)

// documented are the states of the calls in docs/api.md.
func documented(t *testing.T) map[string]string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}

	all, section := map[string]string{}, ""

	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			section = strings.TrimSpace(title)
		}

		if cells := strings.Split(line, " | "); len(cells) == 4 && strings.HasPrefix(line, "| `") {
			all[section+"/"+strings.Trim(cells[0], "| `")] = cells[2]
		}
	}

	return all
}

// TestDocumentedCallsAreThere makes every call with an empty request. A call that is documented to work must not return
// Unimplemented; any other must return the documented sentence.
func TestDocumentedCallsAreThere(t *testing.T) {
	table := documented(t)
	b := newBench(t)
	// Nothing of this computer is used.
	b.Root, b.Containerd = t.TempDir(), filepath.Join(t.TempDir(), "containerd.sock")

	// These calls need more than an empty request.
	requests := map[string]proto.Message{
		"machine.MachineService/ApplyConfiguration": &machine.ApplyConfigurationRequest{Mode: machine.ApplyConfigurationRequest_AUTO},
	}

	var all sync.WaitGroup

	for _, service := range services(t) {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			name := string(service.FullName()) + "/" + string(method.Name())

			all.Go(func() {
				var request proto.Message = &emptypb.Empty{}
				if more := requests[name]; more != nil {
					request = more
				}

				// A call that works may block; one that does not work must answer at once.
				sentence, isNot := strings.CutPrefix(table[name], "not yet: ")
				patience := map[bool]time.Duration{false: 2 * time.Second, true: time.Minute}[isNot]

				ctx, cancel := context.WithTimeout(as(t.Context(), contract.RoleAdmin), patience)
				defer cancel()

				err := answer(ctx, b.conn, method, "/"+name, request)

				switch {
				case table[name] == "":
					t.Errorf("%s is not in docs/api.md", name)
				case strings.Contains(status.Convert(err).Message(), "failed in the server"):
					t.Errorf("%s panics: %v", name, err)
				case isNot && (status.Code(err) != codes.Unimplemented || status.Convert(err).Message() != sentence):
					t.Errorf("%s: got %v, want Unimplemented: %s", name, err, sentence)
				case !isNot && status.Code(err) == codes.Unimplemented:
					t.Errorf("%s: docs/api.md says %q, and it is %v", name, table[name], err)
				}
			})
		}
	}

	all.Wait()
}

// TestDocumentedNeeds makes every call to a machine in a container. The calls that are documented to need a machine must return the
// documented sentence, and no other call may.
func TestDocumentedNeeds(t *testing.T) {
	table := documented(t)
	b := newBench(t)
	b.Root, b.Containerd = t.TempDir(), filepath.Join(t.TempDir(), "containerd.sock")
	b.Platform = platform.Platform{Mode: platform.Container}

	var all sync.WaitGroup

	count := 0

	for _, service := range services(t) {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			name := string(service.FullName()) + "/" + string(method.Name())

			sentence, needs := strings.CutPrefix(table[name], "needs a machine: ")
			if needs {
				count++
			}

			all.Go(func() {
				// A call that is not refused may block.
				patience := map[bool]time.Duration{false: 2 * time.Second, true: time.Minute}[needs]

				ctx, cancel := context.WithTimeout(as(t.Context(), contract.RoleAdmin), patience)
				defer cancel()

				err := answer(ctx, b.conn, method, "/"+name, &emptypb.Empty{})
				refused := strings.Contains(status.Convert(err).Message(), "talosctl get platformconditions")

				if refused != needs || needs && (status.Code(err) != codes.FailedPrecondition || status.Convert(err).Message() != sentence) {
					t.Errorf("%s: got %v, want it refused: %t, with %q", name, err, needs, sentence)
				}
			})
		}
	}

	all.Wait()

	if count == 0 {
		t.Error("no call is documented to need a machine")
	}
}

// answer returns the first answer of a call with one request.
func answer(ctx context.Context, conn *grpc.ClientConn, method protoreflect.MethodDescriptor, name string, request proto.Message) error {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: method.IsStreamingServer(), ClientStreams: method.IsStreamingClient()}, name)
	if err != nil {
		return err
	}

	// The answer has the error of a failed send.
	if err := errors.Join(stream.SendMsg(request), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	return stream.RecvMsg(&emptypb.Empty{})
}
