// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/follow"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// HostSpec is a host with the requested name.
type HostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

var hostDefinition = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}

func (HostSpec) Definition() *resource.Definition { return hostDefinition }

// A server answers with the names of hosts, and follows their changes while it serves.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	st := memory.New()
	views := make(chan []string)

	if err := typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}); err != nil {
		panic(err)
	}

	view := follow.View[[]string]{
		Kinds: []resource.Kind{resource.KindOf[HostSpec]("")},
		Read: func(ctx context.Context, r state.Reader) (names []string, err error) {
			hosts, err := typed.List[HostSpec](ctx, r, "")
			for _, host := range hosts {
				names = append(names, host.TypedSpec().Name)
			}

			return names, err
		},
		Set: func(names []string) { views <- names },
	}

	ended := make(chan error)

	go func() {
		ended <- view.Serve(ctx, st, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()

	fmt.Println(<-views)

	if err := typed.Set(ctx, st, "", "web", HostSpec{Name: "web"}); err != nil {
		panic(err)
	}

	fmt.Println(<-views)
	cancel()
	fmt.Println(<-ended)
	// Output:
	// [www]
	// [web]
	// <nil>
}
