// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/api/machine"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
)

// partition stores values as META does.
type partition struct {
	values map[meta.Tag]string
	err    error
}

func (p *partition) Get(tag meta.Tag) ([]byte, error) { return []byte(p.values[tag]), p.err }

func (p *partition) Set(tag meta.Tag, value []byte) error {
	if p.err == nil {
		p.values[tag] = string(value)
	}

	return p.err
}

func (p *partition) Delete(tag meta.Tag) error {
	if p.err == nil {
		delete(p.values, tag)
	}

	return p.err
}

func TestMeta(t *testing.T) {
	b := newBench(t)
	p := &partition{values: map[meta.Tag]string{}}
	b.Meta = p

	write := func(key uint32, value string) codes.Code {
		_, err := b.machine.MetaWrite(as(t.Context(), contract.RoleMetaWriter), &machine.MetaWriteRequest{Key: key, Value: []byte(value)})

		return status.Code(err)
	}

	remove := func(key uint32) codes.Code {
		_, err := b.machine.MetaDelete(as(t.Context(), contract.RoleMetaWriter), &machine.MetaDeleteRequest{Key: key})

		return status.Code(err)
	}

	got := []codes.Code{write(0xa, "one"), write(0xff, "two"), write(0xb, ""), remove(0xff), remove(0xfe), write(0, "x"), write(0x100, "x"), remove(1 << 31)}
	want := []codes.Code{codes.OK, codes.OK, codes.OK, codes.OK, codes.OK, codes.InvalidArgument, codes.InvalidArgument, codes.InvalidArgument}

	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	for _, tag := range []meta.Tag{meta.Administrators, meta.Trial, meta.Reset} {
		if got := []codes.Code{write(uint32(tag), "x"), remove(uint32(tag))}; got[0] != codes.PermissionDenied || got[1] != codes.PermissionDenied {
			t.Errorf("the system's key %s: got %v, want %v", tag, got, codes.PermissionDenied)
		}
	}

	if d := cmp.Diff(map[meta.Tag]string{0xa: "one", 0xb: ""}, p.values); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}

	for err, want := range map[error]codes.Code{metactl.ErrNotLoaded: codes.FailedPrecondition, errors.New("EIO"): codes.Internal} {
		p.err = err

		if got := []codes.Code{write(1, ""), remove(1)}; got[0] != want || got[1] != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}

	b.Meta = nil

	if got := write(1, ""); got != codes.FailedPrecondition {
		t.Errorf("no META at all: got %v", got)
	}
}

func TestControllerRuntimeDependencies(t *testing.T) {
	b := newBench(t)
	client := inspect.NewInspectServiceClient(b.conn)

	if _, err := client.ControllerRuntimeDependencies(as(t.Context(), contract.RoleReader), &emptypb.Empty{}); status.Code(err) != codes.Unavailable {
		t.Errorf("no controllers: got %v", err)
	}

	rt := runtime.New(b.State, b.Log)
	if err := rt.RegisterController(b.Config); err != nil {
		t.Fatal(err)
	}

	b.Graph = rt.Graph

	r, err := client.ControllerRuntimeDependencies(as(t.Context(), contract.RoleReader), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	edges := map[string]inspect.DependencyEdgeType{}

	for _, e := range r.GetMessages()[0].GetEdges() {
		if e.GetControllerName() != b.Config.Name() {
			t.Errorf("got %v", e)
		}

		edges[e.GetResourceType()] = e.GetEdgeType()
	}

	if got, ok := edges["MachineConfigs.config.talos.dev"]; !ok || got != inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE && got != inspect.DependencyEdgeType_OUTPUT_SHARED {
		t.Errorf("machine configurations: got %v, %t in %v", got, ok, edges)
	}

	for kind := runtime.OutputExclusive; kind <= runtime.InputMappedDestroyReady; kind++ {
		wire, ok := wireEdges[kind]
		if output := wire == inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE || wire == inspect.DependencyEdgeType_OUTPUT_SHARED; !ok || output != kind.IsOutput() {
			t.Errorf("edge %d: got %v, %t", kind, wire, ok)
		}
	}
}
