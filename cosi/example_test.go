// SPDX-License-Identifier: Apache-2.0

package cosi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// HostSpec is a host with the requested name.
type HostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

// GreetingSpec is the output of a controller for a host.
type GreetingSpec struct {
	Text string `yaml:"text" protobuf:"1"`
}

var (
	hostDefinition     = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}
	greetingDefinition = &resource.Definition{Type: "Greetings.example.org", DefaultNamespace: "default"}
)

func (HostSpec) Definition() *resource.Definition     { return hostDefinition }
func (GreetingSpec) Definition() *resource.Definition { return greetingDefinition }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A store, and the life of a resource in it.
func Example_state() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	st := memory.New()

	events := make(chan state.Event, 10)
	check(st.WatchKind(ctx, resource.KindOf[HostSpec](""), events))

	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}))
	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"})) // changes nothing, so there is no event
	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "web"}))

	host, err := typed.Get[HostSpec](ctx, st, "", "web")
	check(err)
	check(st.Destroy(ctx, host.Metadata().Pointer()))

	for range 3 {
		ev := <-events
		fmt.Println(ev.Type, ev.Resource.Metadata(), ev.Resource.Spec().(*HostSpec).Name)
	}
	// Output:
	// created Hosts.example.org(default/web@1) www
	// updated Hosts.example.org(default/web@2) web
	// destroyed Hosts.example.org(default/web@2) web
}

// A controller that is one function. Its output follows its input, and is destroyed with it.
func Example_controller() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	st := memory.New()
	rt := runtime.New(st, slog.New(slog.DiscardHandler))

	check(rt.RegisterController(transform.Map[HostSpec, GreetingSpec]{
		Name: "GreetingController",
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[HostSpec], out *GreetingSpec) error {
			if in.TypedSpec().Name == "" {
				return transform.ErrNoOutput
			}

			out.Text = "Hello, " + in.TypedSpec().Name

			return nil
		},
	}.Controller()))

	go rt.Run(ctx)

	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}))

	greeting, err := st.WatchFor(ctx, resource.PointerOf[GreetingSpec]("", "web"), state.EventTypeIs(state.Created))
	check(err)

	text, err := resource.MarshalYAML(greeting)
	check(err)

	_, spec, _ := strings.Cut(string(text), "\n    updated: ")
	_, spec, _ = strings.Cut(spec, "\n")
	fmt.Print("owner: ", greeting.Metadata().Owner(), "\n", spec)

	check(st.Destroy(ctx, resource.PointerOf[HostSpec]("", "web")))
	_, err = st.WatchFor(ctx, resource.PointerOf[GreetingSpec]("", "web"), state.EventTypeIs(state.Destroyed))
	check(err)
	fmt.Println("and gone")
	// Output:
	// owner: GreetingController
	// spec:
	//     text: Hello, www
	// and gone
}

// The same store from another process.
func Example_remote() {
	ctx := context.Background()
	listener := bufconn.Listen(1 << 16) // or net.Listen("unix", path)

	g := grpc.NewServer()
	v1alpha1.RegisterStateServer(g, server.New(memory.New()))

	go g.Serve(listener)
	defer g.Stop()

	conn, err := grpc.NewClient("passthrough:state", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	check(err)

	defer conn.Close()

	check(resource.Register[HostSpec]()) // so that it is decoded

	st := remote.New(conn)
	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}, state.WithOwner("me")))

	host, err := typed.Get[HostSpec](ctx, st, "", "web")
	check(err)
	fmt.Println(host, host.TypedSpec().Name, host.Metadata().Owner())

	err = typed.Set(ctx, st, "", "web", HostSpec{Name: "x"})
	fmt.Println(state.IsOwnerConflict(err), err)
	// Output:
	// Hosts.example.org(default/web) www me
	// true modify Hosts.example.org(default/web): owner is "me", not ""
}
