// SPDX-License-Identifier: Apache-2.0

// Package cositest tests controllers. It runs them on a state in memory as a program does. The test plays the other clients
// by setting resources, and waits for the outputs of the controllers:
//
//	func TestGreeting(t *testing.T) {
//		e := cositest.Start(t, GreetingController())
//
//		cositest.Set(e, "web", HostSpec{Name: "www"})
//		got := cositest.Wait(e, "web", func(g GreetingSpec) bool { return g.Text != "" })
//		...
//		e.Quiet(100 * time.Millisecond) // fails if the controllers continue to write
//	}
//
// A wait that times out lists the failing controllers with their errors. In a bubble of testing/synctest time is virtual,
// and waiting takes no real time.
//
// Converges runs controllers again and again while calls fail and watches break, and checks that they always reach the same
// state. Access is for tests that call a single function of a controller, without a runtime.
package cositest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/mutation"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Patience is how long a wait lasts before the test fails.
const Patience = 20 * time.Second

// Environment is a state with controllers that run on it until the test ends.
type Environment struct {
	state.State

	// Runtime drives the controllers; more can be registered.
	Runtime *runtime.Runtime

	t        testing.TB
	patience time.Duration
}

// Named is a controller.Controller or a controller.QueueController.
type Named interface{ Name() string }

// Start runs the controllers on a new state in memory.
func Start(t testing.TB, controllers ...Named) *Environment {
	t.Helper()

	return StartOn(t, memory.New(), controllers...)
}

// StartOn runs the controllers on a state, until the test ends. A controller that writes into a resource it has read fails the
// test.
func StartOn(t testing.TB, st state.State, controllers ...Named) *Environment {
	t.Helper()

	e := &Environment{State: st, t: t, patience: Patience}
	e.Runtime = runtime.New(mutation.Detect(t, st), slog.New(slog.NewTextHandler(t.Output(), nil)))
	e.Runtime.ShowFailures()

	for _, c := range controllers {
		e.Register(c)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- e.Runtime.Run(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			t.Errorf("controller runtime: %v", err)
		}
	})

	return e
}

// Register adds a controller, which runs at once.
func (e *Environment) Register(c Named) {
	e.t.Helper()

	var err error

	switch c := c.(type) {
	case controller.Controller:
		err = e.Runtime.RegisterController(c)
	case controller.QueueController:
		err = e.Runtime.RegisterQueueController(c)
	default:
		err = fmt.Errorf("register %q: a %T is not a controller", c.Name(), c)
	}

	if err != nil {
		e.t.Fatal(err)
	}
}

// Access returns the state as the controller may use it: access that the controller has not declared is refused.
func Access(t testing.TB, st state.State, c Named) controller.Access {
	t.Helper()

	var (
		inputs  []controller.Input
		outputs []controller.Output
	)

	switch c := c.(type) {
	case controller.Controller:
		inputs, outputs = c.Inputs(), c.Outputs()
	case controller.QueueController:
		s := c.Settings()
		inputs, outputs = s.Inputs, s.Outputs
	default:
		t.Fatalf("access of %q: a %T is not a controller", c.Name(), c)
	}

	a, err := runtime.NewAccess(st, c.Name(), inputs, outputs)
	if err != nil {
		t.Fatal(err)
	}

	return a
}

// failing lists the failing controllers, for the message of a wait that timed out.
func (e *Environment) failing() string {
	statuses, err := typed.List[meta.ControllerStatusSpec](context.Background(), e.State, meta.NamespaceName)
	if err != nil {
		return fmt.Sprintf("\nthe failing controllers are not known: %v", err)
	}

	var b strings.Builder

	for _, s := range statuses {
		fmt.Fprintf(&b, "\n%s fails: %s", s.Metadata().ID(), s.TypedSpec().Error)
	}

	return b.String()
}
