// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/state/conformance"
)

// perResource reports the growth of the heap.
func perResource(b *testing.B, before uint64, n int, unit string) {
	b.Helper()
	b.ReportMetric(float64(heap()-before)/float64(n), unit)
}

// BenchmarkMemoryKindOfOne is the memory of a kind with one resource.
func BenchmarkMemoryKindOfOne(b *testing.B) { memoryOfKinds(b, 1000, 0) }

// BenchmarkMemoryHotKind is the memory of a kind whose one resource has been updated 1,100 times.
func BenchmarkMemoryHotKind(b *testing.B) { memoryOfKinds(b, 100, 1100) }

func memoryOfKinds(b *testing.B, kinds, updates int) {
	b.Helper()

	for b.Loop() {
		before := heap()
		st := newState()

		for i := range kinds {
			r := newOf(fmt.Sprint("kind", i))
			ok(b, st.Create(context.Background(), r))

			for j := range updates {
				_, err := st.UpdateWithConflicts(context.Background(), r.Metadata(), func(r resource.Resource) error {
					r.Metadata().Annotations().Set("n", fmt.Sprint(j))

					return nil
				})
				ok(b, err)
			}
		}

		perResource(b, before, kinds, "B/kind")
		runtime.KeepAlive(st)
	}
}

// BenchmarkMemoryLabelled is the memory of a resource with an empty spec, without its id, after an update that added a label.
func BenchmarkMemoryLabelled(b *testing.B) {
	const n = 100_000

	for b.Loop() {
		list := ids(n)
		before := heap()
		st := newState()

		for _, id := range list {
			ok(b, st.Create(context.Background(), newPath(id)))
		}

		for _, id := range list {
			_, err := st.UpdateWithConflicts(context.Background(), newPath(id).Metadata(), func(r resource.Resource) error {
				r.Metadata().Labels().Set("app", "x")

				return nil
			})
			ok(b, err)
		}

		perResource(b, before, n, "B/resource")
		runtime.KeepAlive(st)
		runtime.KeepAlive(list)
	}
}

// BenchmarkMemoryListed is the memory of a resource with an empty spec, without its id, after a list of all over gRPC.
func BenchmarkMemoryListed(b *testing.B) {
	const n = 50_000

	registerPath(b)

	for b.Loop() {
		st := newState()

		conn, err := grpc.NewClient(serve(b, st), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
		ok(b, err)

		list := ids(n)
		before := heap()

		for _, id := range list {
			ok(b, st.Create(context.Background(), newPath(id)))
		}

		if got := listOver(b, conn); got != n {
			b.Fatalf("got %d resources, want %d", got, n)
		}

		perResource(b, before, n, "B/resource")
		ok(b, conn.Close())
		runtime.KeepAlive(st)
		runtime.KeepAlive(list)
	}
}

// listOver counts the resources that a list over a connection returns.
func listOver(b *testing.B, conn *grpc.ClientConn) (n int) {
	b.Helper()

	md := newPath("").Metadata()

	req, err := proto.Marshal(&v1alpha1.ListRequest{Namespace: md.Namespace(), Type: md.Type(), Options: &v1alpha1.ListOptions{}})
	ok(b, err)

	stream, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, "/cosi.resource.State/List")
	ok(b, err)
	ok(b, stream.SendMsg(&req))
	ok(b, stream.CloseSend())

	for {
		var msg []byte

		err := stream.RecvMsg(&msg)
		if errors.Is(err, io.EOF) {
			return n
		}

		ok(b, err)

		n++
	}
}

// typed is a path of another type.
type typed struct {
	*conformance.PathResource
	md resource.Metadata
}

func (t *typed) Metadata() *resource.Metadata { return &t.md }

func (t *typed) DeepCopy() resource.Resource {
	c := *t
	c.md = t.md.Copy()

	return &c
}

// newOf returns a path of another kind.
func newOf(typ string) resource.Resource {
	return &typed{PathResource: newPath("one").(*conformance.PathResource), md: resource.NewMetadata("default", typ, "one", resource.VersionUndefined)}
}
