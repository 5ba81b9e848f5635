// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// copySpec is a separate type, so that it is an output and not an input.
type copySpec struct {
	Value string `yaml:"value" protobuf:"1"`
}

var copyDefinition = &resource.Definition{Type: "Copies.test.cosi.dev", DefaultNamespace: "copies"}

func (copySpec) Definition() *resource.Definition { return copyDefinition }

func copier() controller.Controller {
	return transform.Map[conformance.ItemSpec, copySpec]{
		Name: "Copier", InNamespace: "n", Hold: true,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[conformance.ItemSpec], out *copySpec) error {
			out.Value = in.TypedSpec().Value

			return nil
		},
	}.Controller()
}

// byName returns, for each client, the state as the controller with the client's name may use it. (A real server takes the
// name from the certificate or the socket.)
func byName(st state.State, declared ...*access.Declaration) *server.Server {
	return server.NewFor(func(ctx context.Context) (state.State, error) {
		md, _ := metadata.FromIncomingContext(ctx)

		for _, d := range declared {
			if names := md.Get("controller"); len(names) == 1 && names[0] == d.Name() {
				return access.AsController(st, d), nil
			}
		}

		return nil, status.Error(codes.Unauthenticated, "no identity")
	})
}

// TestIdentity runs an unchanged controller over a connection, as in another process, with an identity that the server
// enforces.
func TestIdentity(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())
	ok(t, resource.Register[copySpec]())

	mem := memory.New()
	c := copier()

	d, err := access.Declare(c.Name(), c.Inputs(), c.Outputs())
	ok(t, err)

	st := remote.New(newLink(t, byName(mem, d)).conn)
	as := metadata.AppendToOutgoingContext(t.Context(), "controller", "Copier")

	ctx, cancel := context.WithCancel(as)
	rt := runtime.New(st, slog.New(slog.DiscardHandler))
	ok(t, rt.RegisterController(c))

	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	set(t, mem, "a", "v")

	limit, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()

	r, err := mem.WatchFor(limit, resource.PointerOf[copySpec]("", "a"), state.EventTypeIs(state.Created))
	ok(t, err)

	if r.Metadata().Owner() != "Copier" {
		t.Errorf("owner: got %q", r.Metadata().Owner())
	}

	// It adds its finalizer to the input, and removes it.
	ok(t, mem.TeardownAndDestroy(limit, item("a", "").Metadata().Pointer()))
	cancel()
	ok(t, <-done)

	// Calls of a controller that ignores its declaration.
	set(t, mem, "b", "v")
	ok(t, mem.Create(t.Context(), resource.New[copySpec]("", "foreign"), state.WithOwner("other")))

	other := resource.New[conformance.ItemSpec]("secret", "x")
	ok(t, mem.Create(t.Context(), other))

	input, mine := item("b", "").Metadata().Pointer(), state.WithOwner("Copier")

	for name, try := range map[string]func() error{
		"read elsewhere":          func() error { _, err := st.Get(as, other.Metadata().Pointer()); return err },
		"list elsewhere":          func() error { _, err := st.List(as, other.Metadata().Kind()); return err },
		"watch elsewhere":         func() error { return st.WatchKind(as, other.Metadata().Kind(), make(chan state.Event)) },
		"create an input":         func() error { return st.Create(as, item("c", ""), mine) },
		"change an input":         func() error { return typed.Set(as, st, "n", "b", conformance.ItemSpec{Value: "x"}) },
		"change it in its name":   func() error { return typed.Set(as, st, "n", "b", conformance.ItemSpec{Value: "x"}, mine) },
		"tear an input down":      func() error { _, err := st.Teardown(as, input); return err },
		"destroy an input":        func() error { return st.Destroy(as, input) },
		"create as another":       func() error { return st.Create(as, resource.New[copySpec]("", "x"), state.WithOwner("other")) },
		"create without an owner": func() error { return st.Create(as, resource.New[copySpec]("", "x")) },
		"destroy as another": func() error {
			return st.Destroy(as, resource.PointerOf[copySpec]("", "foreign"), state.WithOwner("other"))
		},
		"modify as another":        func() error { return typed.Set(as, st, "", "foreign", copySpec{"x"}, state.WithOwner("other")) },
		"hold another's output":    func() error { return st.AddFinalizer(as, resource.PointerOf[copySpec]("", "foreign"), "Copier") },
		"call without an identity": func() error { _, err := st.Get(t.Context(), input); return err },
	} {
		err := try()
		if code := status.Code(err); code != codes.PermissionDenied && code != codes.Unauthenticated && !state.IsOwnerConflict(err) {
			t.Errorf("%s: got %v, want it denied", name, err)
		}
	}

	ok(t, st.AddFinalizer(as, input, "Copier"))
	ok(t, st.RemoveFinalizer(as, input, "Copier"))
	ok(t, typed.Set(as, st, "", "own", copySpec{"x"}, mine))
}
