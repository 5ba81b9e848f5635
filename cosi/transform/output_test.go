// SPDX-License-Identifier: Apache-2.0

package transform_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// record creates a record for a host. A host without a name has no record, and the host "?" keeps its record.
func record(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[hostSpec], out *recordSpec) error {
	switch name := in.TypedSpec().Name; name {
	case "":
		return fmt.Errorf("%w: no name", transform.ErrNoOutput)
	case "?":
		return fmt.Errorf("%w: name not known yet", controller.ErrSkip)
	case "!":
		return errors.New("no such name")
	default:
		out.Name = name

		return nil
	}
}

func label(in *resource.Typed[hostSpec], md *resource.Metadata) {
	md.SetLabel("host", in.Metadata().ID())
}

// both are the two forms of a transformation; the id of the output has the prefix.
func both() map[string]func(rt *runtime.Runtime) error {
	return map[string]func(rt *runtime.Runtime) error{
		"map": func(rt *runtime.Runtime) error {
			return rt.RegisterController(transform.Map[hostSpec, recordSpec]{
				Name: "Records", Transform: record, Label: label, Hold: true,
				ID: func(in *resource.Typed[hostSpec]) string { return strings.ToLower(in.Metadata().ID()) },
			}.Controller())
		},
		"queue": func(rt *runtime.Runtime) error {
			return rt.RegisterQueueController(transform.Queue[hostSpec, recordSpec]{
				Name: "Records", Transform: record, Label: label,
				ID: strings.ToLower, Input: strings.ToUpper,
			}.Controller())
		},
	}
}

// TestOutput: in both forms an output is created, labelled, kept when the function skips or fails, destroyed when the function
// returns ErrNoOutput, and destroyed with its input.
func TestOutput(t *testing.T) {
	for name, register := range both() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, register, func(t *testing.T, st state.State, rt *runtime.Runtime) {
				for _, tt := range []struct {
					host, want string
					fails      bool
				}{
					{"web", "web", false}, {"?", "web", false}, {"!", "web", true}, {"www", "www", false}, {"", "", false}, {"again", "again", false},
				} {
					ok(t, typed.Set(t.Context(), st, "", "A", hostSpec{tt.host}))
					time.Sleep(5 * time.Second)
					synctest.Wait()

					r, err := typed.Find[recordSpec](t.Context(), st, "", "a")
					ok(t, err)

					switch {
					case r == nil && tt.want != "":
						t.Errorf("host %q: got no record, want %q", tt.host, tt.want)
					case r != nil && r.TypedSpec().Name != tt.want:
						t.Errorf("host %q: got the record %q, want %q", tt.host, r.TypedSpec().Name, tt.want)
					case r != nil:
						if got, _ := r.Metadata().Labels().Get("host"); got != "A" {
							t.Errorf("host %q: label of the record: got %q, want A", tt.host, got)
						}
					}

					status, err := typed.Find[meta.ControllerStatusSpec](t.Context(), st, "", "Records")
					ok(t, err)

					if got := status != nil; got != tt.fails {
						t.Errorf("host %q: fails: got %t, want %t", tt.host, got, tt.fails)
					}
				}

				if w := written(rt); w > 20 {
					t.Errorf("writes: got %d", w)
				}

				ok(t, st.TeardownAndDestroy(t.Context(), resource.PointerOf[hostSpec]("", "A")))
				synctest.Wait()

				if r, err := typed.Find[recordSpec](t.Context(), st, "", "a"); r != nil || err != nil {
					t.Errorf("without its host: got %v, %v", r, err)
				}
			})
		})
	}
}

func written(rt *runtime.Runtime) (n uint64) {
	for _, m := range rt.Metrics() {
		n += m.Writes
	}

	return n
}

// TestSharedOutput: of two inputs with the same output the first one gets it. The controller fails for the other one with an
// error, and does not write both alternately.
func TestSharedOutput(t *testing.T) {
	for name, register := range both() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, register, func(t *testing.T, st state.State, _ *runtime.Runtime) {
				ok(t, typed.Set(t.Context(), st, "", "A", hostSpec{"upper"}))
				ok(t, typed.Set(t.Context(), st, "", "a", hostSpec{"lower"}))

				for i := range 10 {
					ok(t, typed.Set(t.Context(), st, "", "Z", hostSpec{fmt.Sprint(i)}))
					time.Sleep(time.Second)
				}

				synctest.Wait()

				r, err := typed.Get[recordSpec](t.Context(), st, "", "a")
				ok(t, err)

				got := []any{r.TypedSpec().Name, r.Metadata().Version()}
				if diff := cmp.Diff([]any{"upper", uint64(1)}, got); diff != "" {
					t.Errorf("the output and its version (-want +got):\n%s", diff)
				}

				status, err := typed.Get[meta.ControllerStatusSpec](t.Context(), st, "", "Records")
				ok(t, err)

				if e := status.TypedSpec().Error; !strings.Contains(e, "/a)") || !strings.Contains(e, `its output "a"`) {
					t.Errorf("status: got %q, want it to name the input and the output", e)
				}
			})
		})
	}
}

// TestOrphan: the output of a queue is destroyed, too, when its input was destroyed in spite of the finalizer.
func TestOrphan(t *testing.T) {
	for name, register := range both() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, register, func(t *testing.T, st state.State, _ *runtime.Runtime) {
				ok(t, typed.Set(t.Context(), st, "", "A", hostSpec{"web"}))
				synctest.Wait()
				ok(t, typed.RemoveFinalizer[hostSpec](t.Context(), st, "", "A", "Records"))
				ok(t, typed.Destroy[hostSpec](t.Context(), st, "", "A"))
				synctest.Wait()

				if r, err := typed.Find[recordSpec](t.Context(), st, "", "a"); r != nil || err != nil {
					t.Errorf("without its host: got %v, %v", r, err)
				}
			})
		})
	}
}
