// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/seed-59268b81/talos/api/events"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// The document wins over the argument of the kernel.
func TestEventSinkConfig(t *testing.T) {
	n := controllertest.Start(t, EventSinkConfigController(cmdline.Parse("talos.events.sink=192.0.2.1:5")))
	n.Configure([]byte("machine:\n  type: worker\n"))
	controllertest.Wait(n, runtime.EventSinkConfigID, func(s runtime.EventSinkConfigSpec) bool { return s.Endpoint == "192.0.2.1:5" })
	n.Configure([]byte("apiVersion: v1alpha1\nkind: EventSinkConfig\nendpoint: sink.example.com:6\n"))
	controllertest.Wait(n, runtime.EventSinkConfigID, func(s runtime.EventSinkConfigSpec) bool { return s.Endpoint == "sink.example.com:6" })
}

// sink is a server that refuses the first calls.
type sink struct {
	events.UnimplementedEventSinkServiceServer

	mu      sync.Mutex
	refuses int
	got     []string
	arrived chan struct{}
}

func (s *sink) Publish(_ context.Context, e *events.EventRequest) (*events.EventResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.refuses > 0 {
		s.refuses--

		return nil, status.Error(codes.ResourceExhausted, "later")
	}

	s.got = append(s.got, e.GetId()+" "+e.GetActorId()+" "+e.GetData().GetTypeUrl())
	s.arrived <- struct{}{}

	return &events.EventResponse{}, nil
}

// serve serves the sink until the test ends.
func (s *sink) serve(t *testing.T, address string) string {
	t.Helper()

	l := listen(t, address)
	g := grpc.NewServer()
	events.RegisterEventSinkServiceServer(g, s)

	ended := guard.Go(func() error { return g.Serve(l) })

	t.Cleanup(func() {
		g.Stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return l.Addr().String()
}

// TestEventSink: each event arrives once and in order, also when the server refuses it at first, and when events were overwritten.
func TestEventSink(t *testing.T) {
	var asked []string

	history := func(ctx context.Context, after string, fn func(*machine.Event) error) error {
		asked = append(asked, after)

		all := map[string][]string{"": {"a", "b"}, "b": {"c"}}[after]
		for _, id := range all {
			e := &machine.Event{Id: id, ActorId: "me", Data: &anypb.Any{TypeUrl: "talos/runtime/machine.RestartEvent"}}
			if err := fn(e); err != nil {
				return err
			}
		}

		if after == "" {
			return errors.New("overwritten")
		}

		<-ctx.Done()

		return nil
	}

	closed := listen(t, "127.0.0.1:0")
	address := closed.Addr().String()
	closed.Close()

	n := controllertest.Start(t, EventSinkController(history))
	controllertest.Set(n, runtime.EventSinkConfigID, runtime.EventSinkConfigSpec{Endpoint: address})
	controllertest.Wait(n, runtime.EventSinkConfigID, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "refused") })

	s := &sink{refuses: 1, arrived: make(chan struct{}, 9)}
	s.serve(t, address)

	for range 3 {
		select {
		case <-s.arrived:
		case <-time.After(cositest.Patience):
			t.Fatalf("events are missing: got %q", s.got)
		}
	}

	cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, runtime.EventSinkConfigID)
	n.Quiet(100 * time.Millisecond)

	s.mu.Lock()
	defer s.mu.Unlock()

	const kind = " me talos/runtime/machine.RestartEvent"
	if got, want := strings.Join(s.got, ", "), "a"+kind+", b"+kind+", c"+kind; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	if got := strings.Join(asked, ","); got != ",b" {
		t.Errorf("the history was read after %q, want after nothing and b", got)
	}
}

// TestEventHistoryFails: a history that cannot be read is not read in a loop without a pause.
func TestEventHistoryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		run := sendEvents("127.0.0.1:1", func(context.Context, string, func(*machine.Event) error) error {
			reads++

			return errors.New("unreadable")
		})

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		var got error

		if err := run(ctx, func(err error) { got = err }); err != nil || got == nil || reads > 61 {
			t.Errorf("got %v, %v after %d reads in a minute", err, got, reads)
		}
	})
}
