// SPDX-License-Identifier: Apache-2.0

package transform_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
)

type hostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

type recordSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

var (
	hostDefinition   = &resource.Definition{Type: "Hosts.test.cosi.dev", DefaultNamespace: "default"}
	recordDefinition = &resource.Definition{Type: "Records.test.cosi.dev", DefaultNamespace: "default"}
)

func (hostSpec) Definition() *resource.Definition   { return hostDefinition }
func (recordSpec) Definition() *resource.Definition { return recordDefinition }

// inBubble runs fn in fake time, in parallel to a runtime with the controllers of register.
func inBubble(t *testing.T, register func(rt *runtime.Runtime) error, fn func(t *testing.T, st state.State, rt *runtime.Runtime)) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		st := memory.New()
		rt := runtime.New(st, slog.New(slog.NewTextHandler(t.Output(), nil)))
		rt.ShowFailures()
		ok(t, register(rt))

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)

		go func() { done <- rt.Run(ctx) }()

		fn(t, st, rt)
		cancel()
		ok(t, <-done)
	})
}

func ok(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}
