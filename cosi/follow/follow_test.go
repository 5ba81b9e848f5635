// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-59268b81/talos/cosi/follow"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

type wordSpec struct {
	Text string `protobuf:"1"`
}

var wordDefinition = &resource.Definition{Type: "Words.test.dev", DefaultNamespace: "test"}

func (wordSpec) Definition() *resource.Definition { return wordDefinition }

// word is the view of these tests: the text of the only word, which must not be "bad".
func word(ctx context.Context, r state.Reader) (string, error) {
	found, err := typed.Find[wordSpec](ctx, r, "", "w")
	if err != nil || found == nil {
		return "", err
	}

	if found.TypedSpec().Text == "bad" {
		return "", errBad
	}

	return found.TypedSpec().Text, nil
}

var errBad = errors.New("bad word")

func say(t *testing.T, st state.State, text string) {
	t.Helper()

	if err := typed.Set(t.Context(), st, "", "w", wordSpec{text}); err != nil {
		t.Fatal(err)
	}
}

func TestServe(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(t *testing.T, st state.State, cancel, fail func())
		want error
	}{
		"the context ends": {func(_ *testing.T, _ state.State, cancel, _ func()) { cancel() }, nil},
		"serving fails":    {func(_ *testing.T, _ state.State, _, fail func()) { fail() }, errServe},
		"reading fails":    {func(t *testing.T, st state.State, _, _ func()) { say(t, st, "bad") }, errBad},
	} {
		t.Run(name, func(t *testing.T) {
			st := memory.New()
			ctx, cancel := context.WithCancel(t.Context())

			defer cancel()

			seen, failed, ended := make(chan string, 100), make(chan struct{}), make(chan error, 1)
			view := follow.View[string]{Kinds: []resource.Kind{resource.KindOf[wordSpec]("")}, Read: word, Set: func(v string) { seen <- v }}

			go func() {
				ended <- view.Serve(ctx, st, func(ctx context.Context) error {
					select {
					case <-failed:
						return errServe
					case <-ctx.Done():
						return nil
					}
				})
			}()

			say(t, st, "first")
			await(t, seen, "first")
			say(t, st, "second")
			await(t, seen, "second")

			tt.end(t, st, cancel, func() { close(failed) })

			if err := <-ended; !errors.Is(err, tt.want) || (tt.want == nil) != (err == nil) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

var errServe = errors.New("it serves no more")

// await waits for a view.
func await(t *testing.T, seen <-chan string, want string) {
	t.Helper()

	for got := range seen {
		if got == want {
			return
		}
	}
}

// broken is a state whose watch ends with an error, or does not begin.
type broken struct {
	state.State

	begins bool
}

func (b broken) WatchKindAggregated(_ context.Context, _ resource.Kind, ch chan<- []state.Event, _ ...state.WatchKindOption) error {
	if !b.begins {
		return errBroken
	}

	go func() { ch <- []state.Event{{Type: state.Errored, Error: errBroken}} }()

	return nil
}

var errBroken = errors.New("the connection is broken")

// TestServeWithoutTheState: without process 1 the process ends.
func TestServeWithoutTheState(t *testing.T) {
	for _, begins := range []bool{false, true} {
		view := follow.View[string]{Kinds: []resource.Kind{resource.KindOf[wordSpec]("")}, Read: word, Set: func(string) {}}

		err := view.Serve(t.Context(), broken{State: memory.New(), begins: begins}, func(ctx context.Context) error {
			<-ctx.Done()

			return nil
		})
		if !errors.Is(err, errBroken) {
			t.Errorf("begins %t: got %v, want %v", begins, err, errBroken)
		}
	}
}
