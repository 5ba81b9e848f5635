// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/timeres"
)

// world is a clock that is wrong by some offset, and its time servers.
type world struct {
	offset  time.Duration
	dead    map[string]bool
	asked   []string
	stepped []time.Duration
	slewed  []time.Duration
}

func (w *world) clock() Clock {
	return Clock{
		Query: func(_ context.Context, server string) (time.Duration, time.Duration, error) {
			w.asked = append(w.asked, server)
			if w.dead[server] {
				return 0, 0, errors.New("no answer")
			}

			return w.offset, time.Millisecond, nil
		},
		Step: func(d time.Duration) error { w.stepped = append(w.stepped, d); w.offset -= d; return nil },
		Slew: func(d time.Duration, _ int) error { w.slewed = append(w.slewed, d); w.offset -= d; return nil },
	}
}

func run(t *testing.T, w *world, fn func(ctx context.Context, st state.State)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		st := memory.New()
		rt := cosiruntime.New(st, slog.New(slog.NewTextHandler(io.Discard, nil)))

		if err := rt.RegisterController(&SyncController{Clock: w.clock()}); err != nil {
			t.Fatal(err)
		}

		go rt.Run(ctx) //nolint:errcheck

		if err := typed.Set(ctx, st, "", network.TimeServerID, network.TimeServerStatusSpec{NTPServers: []string{"a", "b"}}); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()
		fn(ctx, st)
		cancel()
		synctest.Wait()
	})
}

func status(ctx context.Context, t *testing.T, st state.State) timeres.StatusSpec {
	t.Helper()
	synctest.Wait()

	r, err := typed.Get[timeres.StatusSpec](ctx, st, "", timeres.StatusID)
	if err != nil {
		t.Fatal(err)
	}

	return *r.TypedSpec()
}

func TestSync(t *testing.T) {
	for _, tt := range []struct {
		name   string
		offset time.Duration
		step   bool
		epoch  int
	}{
		{"right", 0, false, 0},
		{"a little off", 50 * time.Millisecond, false, 0},
		{"off by a minute", -time.Minute, true, 0},
		{"off by years", 3 * 365 * 24 * time.Hour, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{offset: tt.offset}
			run(t, w, func(ctx context.Context, st state.State) {
				if got, want := status(ctx, t, st), (timeres.StatusSpec{Synced: true, Epoch: tt.epoch}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}

				if stepped := len(w.stepped) > 0; stepped != tt.step {
					t.Errorf("stepped %v, slewed %v", w.stepped, w.slewed)
				}
			})
		})
	}
}

func TestServersAreTriedInTurn(t *testing.T) {
	w := &world{dead: map[string]bool{"a": true, "b": true}}
	run(t, w, func(ctx context.Context, st state.State) {
		if got := status(ctx, t, st); got.Synced {
			t.Errorf("no server answers: got %+v", got)
		}

		w.dead = map[string]bool{"a": true}

		time.Sleep(retry + time.Second)

		if got := status(ctx, t, st); !got.Synced {
			t.Errorf("one server answers: got %+v", got)
		}

		w.asked = nil

		time.Sleep(2 * minPoll)

		if !slices.Equal(w.asked[:1], []string{"b"}) {
			t.Errorf("the server that answered is asked first: got %v", w.asked)
		}
	})
}

func TestDisciplineIgnoresSpikes(t *testing.T) {
	var d discipline

	for range samples {
		d.sample(time.Millisecond, time.Millisecond)
	}

	for i := range spikes {
		if act := d.sample(time.Minute, time.Millisecond); !act.spike {
			t.Fatalf("outlier %d: got %+v", i, act)
		}
	}

	if act := d.sample(time.Minute, time.Millisecond); act.spike || !act.step {
		t.Errorf("an outlier that stays is believed: got %+v", act)
	}
}

func TestDisciplinePolls(t *testing.T) {
	var d discipline

	d.sample(0, time.Millisecond)

	var act action
	for range 10 {
		act = d.sample(0, time.Millisecond)
	}

	if act.poll != maxPoll {
		t.Errorf("a steady clock: got %s, want %s", act.poll, maxPoll)
	}

	for range 10 {
		act = d.sample(9*time.Millisecond, time.Millisecond)
	}

	if act.poll != minPoll {
		t.Errorf("a drifting clock: got %s, want %s", act.poll, minPoll)
	}

	if got, want := constant(maxPoll), 6; got != want {
		t.Errorf("constant: got %d, want %d", got, want)
	}
}
