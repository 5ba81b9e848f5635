// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// SiteSpec is a site with the requested number of servers.
type SiteSpec struct {
	Servers int `yaml:"servers" protobuf:"1"`
}

// ServerSpec is one server of a site.
type ServerSpec struct {
	Up bool `yaml:"up" protobuf:"1"`
}

// SiteStatusSpec is the status of a site.
type SiteStatusSpec struct {
	Up int `yaml:"up" protobuf:"1"`
}

var (
	siteDefinition   = &resource.Definition{Type: "Sites.example.org", DefaultNamespace: "default"}
	serverDefinition = &resource.Definition{Type: "Servers.example.org", DefaultNamespace: "default"}
	statusDefinition = &resource.Definition{Type: "SiteStatuses.example.org", DefaultNamespace: "default"}
)

// Definition implements resource.Spec.
func (SiteSpec) Definition() *resource.Definition { return siteDefinition }

// Definition implements resource.Spec.
func (ServerSpec) Definition() *resource.Definition { return serverDefinition }

// Definition implements resource.Spec.
func (SiteStatusSpec) Definition() *resource.Definition { return statusDefinition }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// run runs the controllers until fn returns.
func run(fn func(ctx context.Context, st state.State), register func(rt *runtime.Runtime) error) {
	st := memory.New()
	rt := runtime.New(st, slog.New(slog.DiscardHandler))
	check(register(rt))

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	fn(ctx, st)
	cancel()
	check(<-done)
}

// A controller that visits all of its inputs at each change. Outputs that it no longer writes are destroyed.
func ExampleReconciler() {
	c := &controller.Reconciler{
		ControllerName: "ServerController",
		Reads:          []controller.Input{controller.In[SiteSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[ServerSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[ServerSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			sites, err := typed.List[SiteSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			for _, site := range sites {
				for i := range site.TypedSpec().Servers {
					if err := typed.Set(ctx, rt, "", fmt.Sprintf("%s-%d", site.Metadata().ID(), i), ServerSpec{}); err != nil {
						return err
					}
				}
			}

			return nil
		},
	}

	run(func(ctx context.Context, st state.State) {
		check(typed.Set(ctx, st, "", "web", SiteSpec{Servers: 2}))

		server, err := typed.WatchFor[ServerSpec](ctx, st, "", "web-1", nil)
		check(err)
		fmt.Println(server, "of", server.Metadata().Owner())

		check(typed.Set(ctx, st, "", "web", SiteSpec{Servers: 1}))

		_, err = st.WatchFor(ctx, resource.PointerOf[ServerSpec]("", "web-1"), state.EventTypeIs(state.Destroyed))
		check(err)
		fmt.Println("one server less")
	}, func(rt *runtime.Runtime) error { return rt.RegisterController(c) })
	// Output:
	// Servers.example.org(default/web-1) of ServerController
	// one server less
}

// A controller that reconciles one site at a time, when the site or one of its servers changes. The servers have a label
// with the id of their site.
func ExampleQueueReconciler() {
	const site = "site"

	c := controller.QueueReconciler[SiteSpec]{
		ControllerName: "SiteStatusController",
		Mapped:         []controller.MappedInput{controller.MappedIn[ServerSpec](controller.Mapped, "", controller.ByLabel(site))},
		Writes:         []controller.Output{controller.Out[SiteStatusSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Access, _ *slog.Logger, r *resource.Typed[SiteSpec]) error {
			servers, err := typed.List[ServerSpec](ctx, rt, "", state.WithLabelQuery(resource.LabelIs(site, r.Metadata().ID())))
			if err != nil {
				return err
			}

			var up int

			for _, s := range servers {
				if s.TypedSpec().Up {
					up++
				}
			}

			return typed.Set(ctx, rt, "", r.Metadata().ID(), SiteStatusSpec{Up: up})
		},
	}.Controller()

	run(func(ctx context.Context, st state.State) {
		check(typed.Set(ctx, st, "", "web", SiteSpec{Servers: 1}))
		check(typed.ModifyResource(ctx, st, "", "web-0", func(s *resource.Typed[ServerSpec]) error {
			s.Metadata().SetLabel(site, "web")
			s.TypedSpec().Up = true

			return nil
		}))

		status, err := typed.WatchFor(ctx, st, "", "web", func(s *resource.Typed[SiteStatusSpec]) bool { return s.TypedSpec().Up > 0 })
		check(err)
		fmt.Println(status, status.TypedSpec().Up)
	}, func(rt *runtime.Runtime) error { return rt.RegisterQueueController(c) })
	// Output: SiteStatuses.example.org(default/web) 1
}
