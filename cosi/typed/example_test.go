// SPDX-License-Identifier: Apache-2.0

package typed_test

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// HostSpec is the spec in the examples.
type HostSpec struct {
	Name  string `yaml:"name"  protobuf:"1"`
	Ready bool   `yaml:"ready" protobuf:"2"`
}

var hostDefinition = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}

// Definition implements resource.Spec.
func (HostSpec) Definition() *resource.Definition { return hostDefinition }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Reads and writes by the type of the spec.
func Example() {
	ctx, st := context.Background(), memory.New()

	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}))
	check(typed.Modify(ctx, st, "", "web", func(h *HostSpec) error {
		h.Ready = true

		return nil
	}))

	host, err := typed.Get[HostSpec](ctx, st, "", "web")
	check(err)
	fmt.Println(host.Metadata(), host.TypedSpec().Name, host.TypedSpec().Ready)

	none, err := typed.Find[HostSpec](ctx, st, "", "mail")
	fmt.Println(none, err)
	// Output:
	// Hosts.example.org(default/web@2) www true
	// <nil> <nil>
}

// Events with typed resources.
func ExampleWatchKind() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	st := memory.New()
	events := make(chan typed.Event[HostSpec], 10)
	check(typed.WatchKind(ctx, st, "", events))

	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}))
	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "web"}))
	check(typed.Destroy[HostSpec](ctx, st, "", "web"))

	for range 3 {
		ev := <-events
		fmt.Println(ev.Type, ev.ID, ev.Resource.TypedSpec().Name)
	}
	// Output:
	// created web www
	// updated web web
	// destroyed web web
}

// A user of a resource adds a finalizer. The owner tears the resource down and waits.
func ExampleAddFinalizer() {
	ctx, st := context.Background(), memory.New()

	check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}))
	check(typed.AddFinalizer[HostSpec](ctx, st, "", "web", "dns"))

	ready, err := typed.Teardown[HostSpec](ctx, st, "", "web")
	check(err)
	fmt.Println("free:", ready)

	fmt.Println(typed.Destroy[HostSpec](ctx, st, "", "web"))

	check(typed.RemoveFinalizer[HostSpec](ctx, st, "", "web", "dns"))
	check(typed.Destroy[HostSpec](ctx, st, "", "web"))
	// Output:
	// free: false
	// destroy Hosts.example.org(default/web): has finalizers ["dns"]
}
