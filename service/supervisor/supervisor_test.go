// SPDX-License-Identifier: Apache-2.0

package supervisor_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/service/supervisor"
)

type memoryLog struct {
	mu    sync.Mutex
	lines map[string][]string
}

func (l *memoryLog) Append(id string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.lines == nil {
		l.lines = map[string][]string{}
	}

	l.lines[id] = append(l.lines[id], string(line))
}

func (l *memoryLog) read(id string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.Clone(l.lines[id])
}

func newSupervisor(ctx context.Context, log *memoryLog) *supervisor.Supervisor {
	return supervisor.New(ctx, slog.New(slog.NewTextHandler(io.Discard, nil)), log, nil)
}

// blocker runs until it is stopped and counts its starts.
func blocker(starts *[]string, mu *sync.Mutex, name string) supervisor.Func {
	return func(ctx context.Context, _ supervisor.Run) error {
		mu.Lock()
		*starts = append(*starts, name)
		mu.Unlock()
		<-ctx.Done()

		return nil
	}
}

func state(s *supervisor.Supervisor, id string) supervisor.State {
	st, _ := s.Status(id)

	return st.State
}

func TestDependentWaitsForHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSupervisor(ctx, &memoryLog{})

		var (
			mu      sync.Mutex
			starts  []string
			healthy bool
		)

		check := func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()

			if !healthy {
				return errors.New("not yet")
			}

			return nil
		}

		for _, svc := range []supervisor.Service{
			{ID: "kubelet", Runner: blocker(&starts, &mu, "kubelet"), DependsOn: []string{"containerd"}},
			{ID: "containerd", Runner: blocker(&starts, &mu, "containerd"), Health: &supervisor.Health{Check: check}},
		} {
			if err := s.Apply(svc); err != nil {
				t.Fatal(err)
			}
		}

		time.Sleep(10 * time.Second)

		if got, want := state(s, "kubelet"), supervisor.StateWaiting; got != want {
			t.Fatalf("kubelet before containerd is healthy: got %s, want %s", got, want)
		}

		mu.Lock()
		healthy = true
		mu.Unlock()
		time.Sleep(10 * time.Second)

		if got, want := state(s, "kubelet"), supervisor.StateRunning; got != want {
			t.Fatalf("kubelet after containerd is healthy: got %s, want %s", got, want)
		}

		mu.Lock()
		if want := []string{"containerd", "kubelet"}; !slices.Equal(starts, want) {
			t.Errorf("starts: got %v, want %v", starts, want)
		}
		mu.Unlock()
		cancel()
		synctest.Wait()
	})
}

func TestRestartsAfterFailureAndPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		log := &memoryLog{}
		s := newSupervisor(ctx, log)
		runs := 0

		err := s.Apply(supervisor.Service{ID: "etcd", Runner: supervisor.Func(func(ctx context.Context, run supervisor.Run) error {
			runs++

			switch runs {
			case 1:
				_, _ = io.WriteString(run.Log, "first\nunfinished")

				return errors.New("disk is slow")
			case 2:
				panic("boom")
			}

			<-ctx.Done()

			return nil
		})})
		if err != nil {
			t.Fatal(err)
		}

		time.Sleep(time.Second)

		if got := state(s, "etcd"); got != supervisor.StateFailed {
			t.Fatalf("after an error: got %s", got)
		}

		time.Sleep(10 * time.Second)

		synctest.Wait()

		if got := state(s, "etcd"); got != supervisor.StateRunning || runs != 3 {
			t.Fatalf("after a panic: got %s, %d runs, want Running, 3", got, runs)
		}

		if got, want := log.read("etcd"), []string{"first", "unfinished"}; !slices.Equal(got, want) {
			t.Errorf("log: got %q, want %q", got, want)
		}

		cancel()
		synctest.Wait()
	})
}

func TestFingerprint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSupervisor(ctx, &memoryLog{})

		var (
			mu     sync.Mutex
			starts []string
		)

		apply := func(fingerprint, name string) {
			if err := s.Apply(supervisor.Service{ID: "apid", Fingerprint: fingerprint, Runner: blocker(&starts, &mu, name)}); err != nil {
				t.Fatal(err)
			}

			time.Sleep(time.Second)
		}

		apply("1", "a")
		apply("1", "a-again")
		apply("2", "b")

		mu.Lock()
		if want := []string{"a", "b"}; !slices.Equal(starts, want) {
			t.Errorf("starts: got %v, want %v", starts, want)
		}
		mu.Unlock()
		cancel()
		synctest.Wait()
	})
}

func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSupervisor(ctx, &memoryLog{})

		var (
			mu     sync.Mutex
			starts []string
		)

		for id, control := range map[string]supervisor.Control{"kubelet": supervisor.CanRestart, "etcd": 0} {
			if err := s.Apply(supervisor.Service{ID: id, Control: control, Runner: blocker(&starts, &mu, id)}); err != nil {
				t.Fatal(err)
			}
		}

		synctest.Wait()

		for _, tt := range []struct {
			id   string
			want error
		}{{"kubelet", nil}, {"etcd", supervisor.ErrNotAllowed}, {"unknown", supervisor.ErrUnknown}} {
			if err := s.Restart(ctx, tt.id); !errors.Is(err, tt.want) {
				t.Errorf("restart %s: got %v, want %v", tt.id, err, tt.want)
			}
		}

		cancel()
		synctest.Wait()
	})
}

// TestStopIsTheLastState stops services that end at once: no other state follows that they have stopped.
func TestStopIsTheLastState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSupervisor(ctx, &memoryLog{})

		svc := supervisor.Service{ID: "kubelet", Control: supervisor.CanStart | supervisor.CanStop, Runner: supervisor.Func(
			func(ctx context.Context, _ supervisor.Run) error {
				<-ctx.Done()

				return nil
			},
		)}
		if err := s.Apply(svc); err != nil {
			t.Fatal(err)
		}

		for i := range 1000 {
			synctest.Wait()

			if err := s.Stop(ctx, svc.ID); err != nil {
				t.Fatal(err)
			}

			synctest.Wait()

			if st, _ := s.Status(svc.ID); st.State != supervisor.StateFinished {
				t.Fatalf("stop %d: got %s, want %s", i, st.State, supervisor.StateFinished)
			}

			if err := s.Start(svc.ID); err != nil {
				t.Fatal(err)
			}
		}

		cancel()
	})
}

// TestHungService has services whose checks fail before or after they were healthy.
func TestHungService(t *testing.T) {
	always := func(int, time.Duration) bool { return true }
	never := func(int, time.Duration) bool { return false }

	for _, tt := range []struct {
		name     string
		failures int
		// healthy reports whether a check succeeds, by the time since the start.
		healthy func(start int, age time.Duration) bool
		// live, if not nil, is the same for Live.
		live   func(start int, age time.Duration) bool
		starts int // after a minute
	}{
		{"healthy", 3, always, nil, 1},
		{"never healthy: it may be starting", 3, never, nil, 1},
		{"hangs for good", 3, func(start int, age time.Duration) bool { return start > 1 || age < 20*time.Second }, nil, 2},
		{"hangs again", 3, func(start int, age time.Duration) bool { return start > 2 || age < 10*time.Second }, nil, 3},
		{"fails now and then", 3, func(_ int, age time.Duration) bool { return age/time.Second%5 != 0 }, nil, 1},
		{"fails, and restarts do not help", 0, func(_ int, age time.Duration) bool { return age < 10*time.Second }, nil, 1},
		{"lives, but has lost its peers", 3, func(_ int, age time.Duration) bool { return age < 10*time.Second }, always, 1},
		{"lives, and was never healthy", 3, never, always, 1},
		{"hangs without having been healthy", 3, never, func(start int, age time.Duration) bool { return start > 1 || age < 10*time.Second }, 2},
		{"was never live: it may be starting", 3, never, never, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := newSupervisor(ctx, &memoryLog{})

				var (
					mu     sync.Mutex
					starts int
					began  time.Time
				)

				check := func(passes func(start int, age time.Duration) bool) func(context.Context) error {
					return func(context.Context) error {
						mu.Lock()
						defer mu.Unlock()

						if !passes(starts, time.Since(began)) {
							return errors.New("no answer")
						}

						return nil
					}
				}

				health := &supervisor.Health{Check: check(tt.healthy), Period: time.Second, Failures: tt.failures}
				if tt.live != nil {
					health.Live = check(tt.live)
				}

				run := func(ctx context.Context, _ supervisor.Run) error {
					mu.Lock()
					starts++
					began = time.Now()
					mu.Unlock()

					<-ctx.Done()

					if cause := context.Cause(ctx); t.Context().Err() == nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, supervisor.ErrHung) {
						t.Errorf("the run ended by %v", cause)
					}

					return nil
				}

				err := s.Apply(supervisor.Service{
					ID: "a", Runner: supervisor.Func(run), RestartInterval: time.Second, Health: health,
				})
				if err != nil {
					t.Fatal(err)
				}

				time.Sleep(time.Minute)

				mu.Lock()
				if starts != tt.starts {
					t.Errorf("got %d starts, want %d", starts, tt.starts)
				}
				mu.Unlock()

				cancel()
				synctest.Wait()
			})
		})
	}
}
