// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
)

// definitionSpec is a spec of a typical size, equal to the one in the benchmark of the reference.
type definitionSpec struct {
	Type             string   `yaml:"type"             protobuf:"1"`
	DisplayType      string   `yaml:"displayType"      protobuf:"2"`
	DefaultNamespace string   `yaml:"defaultNamespace" protobuf:"3"`
	Aliases          []string `yaml:"aliases"          protobuf:"4"`
	AllAliases       []string `yaml:"allAliases"       protobuf:"5"`
}

var definitionDefinition = &resource.Definition{Type: "ResourceDefinitions.meta.cosi.dev", DefaultNamespace: "meta"}

func (definitionSpec) Definition() *resource.Definition { return definitionDefinition }

// raw is a codec whose messages are bytes, so the decoding in the clients is not measured.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = b

	return nil
}

// BenchmarkFanout100 is an update of a resource until it arrives at 100 clients that watch its kind over gRPC. The
// connections are those of remote.Dial.
func BenchmarkFanout100(b *testing.B) {
	const clients = 100

	st := newState()

	r := resource.New[definitionSpec]("", "a")
	*r.TypedSpec() = definitionSpec{
		Type: "Links.network.dev", DisplayType: "Link", DefaultNamespace: "network",
		Aliases: []string{"link", "l", "ls"}, AllAliases: []string{"links", "links.network", "link", "l", "ls"},
	}

	ok(b, st.Create(context.Background(), r))

	address := serve(b, st)
	got := make(chan struct{}, clients)

	watchAll(b, address, clients, r.Metadata().Namespace(), r.Metadata().Type(), got)

	for b.Loop() {
		ok(b, st.Update(context.Background(), r))

		for range clients {
			<-got
		}
	}
}

func serve(b *testing.B, st state.State) string {
	b.Helper()

	path := filepath.Join(b.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	ok(b, err)

	g := grpc.NewServer(server.Options()...)
	v1alpha1.RegisterStateServer(g, server.New(st))

	go g.Serve(listener)

	b.Cleanup(g.Stop)

	return "unix://" + path
}

func watchAll(b *testing.B, address string, clients int, namespace, typ string, got chan<- struct{}) {
	b.Helper()

	req, err := proto.Marshal(&v1alpha1.WatchRequest{Namespace: namespace, Type: typ, ApiVersion: 1, Options: &v1alpha1.WatchOptions{}})
	ok(b, err)

	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)

	for range clients {
		conn, err := remote.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
		ok(b, err)
		b.Cleanup(func() { conn.Close() })

		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/cosi.resource.State/Watch")
		ok(b, err)
		ok(b, stream.SendMsg(&req))
		ok(b, stream.CloseSend())

		var msg []byte

		ok(b, stream.RecvMsg(&msg))

		go func() {
			for {
				var msg []byte
				if stream.RecvMsg(&msg) != nil {
					return
				}

				got <- struct{}{}
			}
		}()
	}
}
