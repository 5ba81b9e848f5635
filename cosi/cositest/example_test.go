// SPDX-License-Identifier: Apache-2.0

package cositest_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
)

// HostSpec is a host with the requested name.
type HostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

// GreetingSpec is the output of the controller that is tested.
type GreetingSpec struct {
	Text string `yaml:"text" protobuf:"1"`
}

var (
	exampleHost     = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}
	exampleGreeting = &resource.Definition{Type: "Greetings.example.org", DefaultNamespace: "default"}
)

func (HostSpec) Definition() *resource.Definition     { return exampleHost }
func (GreetingSpec) Definition() *resource.Definition { return exampleGreeting }

func greetingController() transform.Map[HostSpec, GreetingSpec] {
	return transform.Map[HostSpec, GreetingSpec]{
		Name: "GreetingController",
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[HostSpec], out *GreetingSpec) error {
			out.Text = "Hello, " + in.TypedSpec().Name

			return nil
		},
	}
}

func testGreeting(t *testing.T) {
	e := cositest.Start(t, greetingController().Controller())

	cositest.Set(e, "web", HostSpec{Name: "www"})
	cositest.Wait(e, "web", func(g GreetingSpec) bool { return strings.HasSuffix(g.Text, "www") })
	e.Quiet(100 * time.Millisecond) // the controller has no more to do

	cositest.Teardown[HostSpec](e, "web")
	cositest.WaitGone[GreetingSpec](e, "web")
}

// The test plays the client, and waits for what the controller makes of it.
func ExampleStart() {
	_ = testGreeting // begins with a capital letter in a package of your own
}

func TestExampleStart(t *testing.T) { testGreeting(t) }
