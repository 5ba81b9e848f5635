// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// powerBench is a running PowerController with participants.
type powerBench struct {
	*testing.T
	st state.State

	mu      sync.Mutex
	parts   map[string]Participant
	changed chan struct{}
	events  []string      // by actor
	did     []string      // what has happened, "begin X", "end X"
	done    chan struct{} // closed when the machine ends
	took    time.Duration
	unwiped error // the error of the wipe
}

func inPowerBench(t *testing.T, fn func(b *powerBench)) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		b := &powerBench{T: t, st: memory.New(), parts: map[string]Participant{}, changed: make(chan struct{}), done: make(chan struct{})}
		rt := cosiruntime.New(b.st, slog.New(slog.DiscardHandler))
		start := time.Now()

		if err := rt.RegisterController(&PowerController{
			Participants: func(context.Context) ([]Participant, <-chan struct{}, error) {
				b.mu.Lock()
				defer b.mu.Unlock()

				return slices.Collect(maps.Values(b.parts)), b.changed, nil
			},
			Close: func() { b.note("close") },
			Wipe: func() error {
				b.note("wipe")

				return b.unwiped
			},
			Act: func(action runtime.PowerAction) error {
				b.took = time.Since(start)
				b.note(string(action))
				close(b.done)

				return nil
			},
			Publish: func(event proto.Message, actor string) {
				b.mu.Lock()
				defer b.mu.Unlock()

				b.events = append(b.events, fmt.Sprintf("%s %s", actor, event.ProtoReflect().Descriptor().Name()))
			},
		}); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)

		go func() { ended <- rt.Run(ctx) }()

		fn(b)
		time.Sleep(2 * time.Hour) // what hangs ends with the test
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (b *powerBench) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.did = append(b.did, what)
}

// runs adds a participant whose Stop takes the given time and returns the result of stop.
func (b *powerBench) runs(id string, needs []string, takes time.Duration, stop func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.parts[id] = Participant{ID: id, Needs: needs, Timeout: time.Minute, Stop: func(context.Context, runtime.PowerRequestSpec) error {
		b.note("begin " + id)
		time.Sleep(takes)
		b.note("end " + id)

		return stop()
	}}

	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *powerBench) removed(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	delete(b.parts, id)
	close(b.changed)
	b.changed = make(chan struct{})
}

// holders returns the finalizers of each Lifecycle.
func (b *powerBench) holders() map[string][]string {
	synctest.Wait()

	all, err := typed.List[runtime.LifecycleSpec](b.Context(), b.st, "")
	if err != nil {
		b.Fatal(err)
	}

	out := map[string][]string{}
	for _, l := range all {
		out[l.Metadata().ID()] = slices.Sorted(slices.Values(l.Metadata().Finalizers()))
	}

	return out
}

func (b *powerBench) request(force bool) {
	synctest.Wait()

	if err := typed.Set(b.Context(), b.st, "", runtime.PowerRequestID,
		runtime.PowerRequestSpec{Action: runtime.PowerReboot, Force: force, ActorID: "me"}); err != nil {
		b.Fatal(err)
	}
}

func well() error { return nil }

// controlPlane adds the participants of a control plane.
func (b *powerBench) controlPlane() {
	b.runs("volumes", nil, time.Second, well)
	b.runs("cri", []string{"volumes"}, time.Second, well)
	b.runs("containers", []string{"cri", "volumes"}, time.Second, well)
	b.runs("etcd", []string{"cri", "volumes"}, time.Second, well)
	b.runs("kubelet", []string{"cri", "containers", "volumes"}, time.Second, well)
	b.runs("pods", []string{"kubelet", "etcd"}, time.Second, well)
	b.runs("trustd", []string{"volumes"}, 90*time.Minute, well) // hangs
}

func TestHold(t *testing.T) {
	inPowerBench(t, func(b *powerBench) {
		b.controlPlane()

		want := map[string][]string{
			"volumes": {"containers", "cri", "etcd", "kubelet", "trustd"}, "cri": {"containers", "etcd", "kubelet"},
			"containers": {"kubelet"}, "etcd": {"pods"}, "kubelet": {"pods"}, "pods": nil, "trustd": nil,
		}
		if diff := cmp.Diff(want, b.holders()); diff != "" {
			b.Error(diff)
		}

		// etcd is removed although pods need it: participants that do not run do not count.
		b.removed("etcd")
		delete(want, "etcd")

		want["volumes"], want["cri"] = []string{"containers", "cri", "kubelet", "trustd"}, []string{"containers", "kubelet"}

		b.holders() // it is torn down, and let go, and destroyed
		b.runs("pods", []string{"kubelet"}, 0, well)

		if diff := cmp.Diff(want, b.holders()); diff != "" {
			b.Error(diff)
		}

		b.request(false)
		<-b.done
	})
}

// TestRunsAgain: a participant that ends and runs again while others that need it go on, as etcd does when its member was removed, is as before, and
// the machine goes down at once.
func TestRunsAgain(t *testing.T) {
	inPowerBench(t, func(b *powerBench) {
		b.runs("etcd", nil, 0, well)
		b.runs("pods", []string{"etcd"}, 0, well)

		for range 5 {
			b.removed("etcd")

			if diff := cmp.Diff(map[string][]string{"pods": nil}, b.holders()); diff != "" {
				b.Fatalf("etcd has ended:\n%s", diff)
			}

			b.runs("etcd", nil, 0, well)

			if diff := cmp.Diff(map[string][]string{"etcd": {"pods"}, "pods": nil}, b.holders()); diff != "" {
				b.Fatalf("etcd runs again:\n%s", diff)
			}
		}

		// Another controller holds the former one for longer.
		if err := typed.AddFinalizer[runtime.LifecycleSpec](b.Context(), b.st, "", "etcd", "network.VIPController"); err != nil {
			b.Fatal(err)
		}

		b.removed("etcd")
		b.holders()
		b.runs("etcd", nil, 0, well)
		time.Sleep(time.Hour)

		if diff := cmp.Diff(map[string][]string{"etcd": {"network.VIPController"}, "pods": nil}, b.holders()); diff != "" {
			b.Fatalf("etcd runs again, and another controller holds the former one:\n%s", diff)
		}

		if err := typed.RemoveFinalizer[runtime.LifecycleSpec](b.Context(), b.st, "", "etcd", "network.VIPController"); err != nil {
			b.Fatal(err)
		}

		if diff := cmp.Diff(map[string][]string{"etcd": {"pods"}, "pods": nil}, b.holders()); diff != "" {
			b.Fatalf("the other controller has let it go:\n%s", diff)
		}

		began := time.Now()

		b.request(false)
		<-b.done

		if took := time.Since(began); took > time.Second {
			b.Errorf("the machine went down after %s", took)
		}
	})
}

func TestGoDown(t *testing.T) {
	inPowerBench(t, func(b *powerBench) {
		b.controlPlane()
		b.runs("etcd", []string{"cri", "volumes"}, time.Second, func() error { return errors.New("is not well") })
		b.runs("containers", []string{"cri", "volumes"}, time.Second, func() error { panic("not well at all") })
		b.request(false)
		<-b.done

		before := func(a, c string) {
			b.mu.Lock() // one that hangs may end now
			defer b.mu.Unlock()

			if i, j := slices.Index(b.did, a), slices.Index(b.did, c); i < 0 || j < 0 || i > j {
				b.Errorf("%q is not before %q: %q", a, c, b.did)
			}
		}

		before("close", "begin pods")
		before("end pods", "begin kubelet")
		before("end pods", "begin etcd")
		before("end kubelet", "begin containers")
		before("end containers", "begin cri")
		before("end etcd", "begin cri")
		before("end cri", "begin volumes")
		before("end volumes", "reboot")

		// The participant that hangs is left behind after a minute; the volumes took a second after that.
		if b.took != time.Minute+lateness+time.Second {
			b.Errorf("it took %s", b.took)
		}

		// Start and stop of the sequence and of each participant, and the restart.
		if got, want := len(b.events), 2+2*7+1; got != want || b.events[got-1] != "me RestartEvent" {
			b.Errorf("got %d events, want %d: %q", got, want, b.events)
		}

		if left := b.holders(); len(left) > 0 {
			b.Errorf("left: %v", left)
		}
	})
}

// TestHeldByOthers: any controller may hold a Lifecycle, but only for a limited time.
func TestHeldByOthers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		holds time.Duration
		want  time.Duration
	}{
		{"for a while", 20 * time.Second, 21 * time.Second},
		{"for ever", time.Hour, time.Minute + lateness + othersTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inPowerBench(t, func(b *powerBench) {
				b.runs("kubelet", nil, time.Second, well)
				synctest.Wait()

				if err := typed.AddFinalizer[runtime.LifecycleSpec](b.Context(), b.st, "", "kubelet", "network.VIPController"); err != nil {
					b.Fatal(err)
				}

				b.request(false)
				time.Sleep(tt.holds)

				if err := typed.RemoveFinalizer[runtime.LifecycleSpec](b.Context(), b.st, "", "kubelet", "network.VIPController"); err != nil {
					b.Fatal(err)
				}

				<-b.done

				if b.took != tt.want {
					b.Errorf("it took %s, want %s", b.took, tt.want)
				}

				if got := strings.Join(b.did, ", "); tt.holds < time.Hour && got != "close, begin kubelet, end kubelet, reboot" {
					b.Errorf("got %s", got)
				}
			})
		})
	}
}

// TestReset: a machine is wiped when everything has ended. If it is not wiped, it reboots, and goes on then.
func TestReset(t *testing.T) {
	for _, tt := range []struct {
		name    string
		unwiped error
		want    string
		events  []string
	}{
		{"wiped", nil, "close, begin volumes, end volumes, wipe, shutdown", []string{"SequenceEvent", "PhaseEvent", "PhaseEvent", "PhaseEvent", "PhaseEvent", "SequenceEvent", "RestartEvent"}},
		{"in use", errors.New("wipe STATE: in use"), "close, begin volumes, end volumes, wipe, reboot", []string{"SequenceEvent", "PhaseEvent", "PhaseEvent", "PhaseEvent", "SequenceEvent", "PhaseEvent", "SequenceEvent", "RestartEvent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inPowerBench(t, func(b *powerBench) {
				b.unwiped = tt.unwiped
				b.runs("volumes", nil, time.Second, well)
				synctest.Wait()

				if err := typed.Set(b.Context(), b.st, "", runtime.PowerRequestID, runtime.PowerRequestSpec{Action: runtime.PowerShutdown, Reset: true}); err != nil {
					b.Fatal(err)
				}

				<-b.done

				b.mu.Lock()
				defer b.mu.Unlock()

				if got := strings.Join(b.did, ", "); got != tt.want {
					b.Errorf("got %s, want %s", got, tt.want)
				}

				if got, want := strings.Join(b.events, ","), " "+strings.Join(tt.events, ", "); got != want {
					b.Errorf("got the events%s, want%s", got, want)
				}
			})
		})
	}
}

// TestNothingRuns: a machine without participants goes down too.
func TestNothingRuns(t *testing.T) {
	inPowerBench(t, func(b *powerBench) {
		b.request(true)
		<-b.done

		if b.took != 0 {
			b.Errorf("it took %s", b.took)
		}
	})
}
