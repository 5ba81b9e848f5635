// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/sys/clock"
)

// world is a clock with an offset, and its time servers.
type world struct {
	mu      sync.Mutex
	hung    map[string]bool // until the context ends
	offset  time.Duration
	dead    map[string]bool
	asked   []string
	stepped []time.Duration
	slewed  []time.Duration
	leaps   []clock.Leap
	// lies are added to the times of servers, leap is what they announce, kisses are the codes of those that refuse queries.
	lies     map[string]time.Duration
	leap     clock.Leap
	kisses   map[string]string
	earliest time.Time
}

func (w *world) clock() Clock {
	return Clock{
		Earliest: w.earliest,
		Query: func(ctx context.Context, server string) (Sample, error) {
			w.mu.Lock()
			w.asked = append(w.asked, server)
			hung, dead, kiss := w.hung[server], w.dead[server], w.kisses[server]
			offset, leap := w.offset+w.lies[server], w.leap
			w.mu.Unlock()

			switch {
			case hung:
				<-ctx.Done()

				return Sample{}, ctx.Err()
			case dead:
				return Sample{}, errors.New("no answer")
			case kiss != "":
				return Sample{}, &KissError{Code: kiss}
			default:
				return Sample{Offset: offset, RoundTrip: time.Millisecond, Distance: time.Millisecond, Leap: leap}, nil
			}
		},
		Step: func(d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()

			w.stepped = append(w.stepped, d)
			w.offset -= d

			return nil
		},
		Slew: func(d time.Duration, _ int, leap clock.Leap) error {
			w.mu.Lock()
			defer w.mu.Unlock()

			w.leaps = append(w.leaps, leap)

			w.slewed = append(w.slewed, d)
			w.offset -= d

			return nil
		},
	}
}

// questions returns the servers that were queried since the last call.
func (w *world) questions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()

	asked := w.asked
	w.asked = nil

	return asked
}

func (w *world) kill(dead map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.dead = dead
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

		go rt.Run(ctx)

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

func TestOneServerAnswers(t *testing.T) {
	w := &world{dead: map[string]bool{"a": true, "b": true}}
	run(t, w, func(ctx context.Context, st state.State) {
		if got := status(ctx, t, st); got.Synced {
			t.Errorf("no server answers: got %+v", got)
		}

		w.kill(map[string]bool{"a": true})

		time.Sleep(retry + time.Second)

		if got := status(ctx, t, st); !got.Synced {
			t.Errorf("one server answers: got %+v", got)
		}
	})
}

// DHCP adds a server while the default one does not answer.
func TestBetterServersDoNotWait(t *testing.T) {
	w := &world{hung: map[string]bool{"a": true, "b": true}}
	run(t, w, func(ctx context.Context, st state.State) {
		if got := status0(ctx, st); got != nil && got.Synced {
			t.Errorf("before any answer: got %+v", got)
		}

		if err := typed.Set(ctx, st, "", network.TimeServerID, network.TimeServerStatusSpec{NTPServers: []string{"c"}}); err != nil {
			t.Fatal(err)
		}

		if got := status(ctx, t, st); !got.Synced {
			t.Errorf("got %+v, want synced at once; asked %v", got, w.questions())
		}
	})
}

func TestBootTimeoutAndDisabled(t *testing.T) {
	w := &world{dead: map[string]bool{"a": true, "b": true}}
	run(t, w, func(ctx context.Context, st state.State) {
		configure := func(text string) {
			t.Helper()

			cfg, err := config.Decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}

			if err := typed.Set(ctx, st, "", configres.ActiveID, configres.NewMachineConfigSpec(cfg)); err != nil {
				t.Fatal(err)
			}
		}

		// A configuration without a main document has no settings of time.
		configure("apiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n")
		configure("version: v1alpha1\nmachine:\n  type: worker\n  time:\n    bootTimeout: 1m\n")
		time.Sleep(30 * time.Second)

		if got := status(ctx, t, st); got.Synced {
			t.Errorf("before the boot timeout: got %+v", got)
		}

		time.Sleep(time.Minute)

		if got := status(ctx, t, st); !got.Synced || got.SyncDisabled {
			t.Errorf("after the boot timeout: got %+v", got)
		}

		configure("version: v1alpha1\nmachine:\n  type: worker\n  time:\n    disabled: true\n")
		time.Sleep(time.Second)

		w.questions()

		if got := status(ctx, t, st); !got.SyncDisabled || !got.Usable() {
			t.Errorf("disabled: got %+v", got)
		}

		time.Sleep(time.Hour)

		if asked := w.questions(); len(asked) > 0 {
			t.Errorf("disabled, but asked %v", asked)
		}

		w.kill(nil)

		configure("version: v1alpha1\nmachine:\n  type: worker\n")

		if got := status(ctx, t, st); !got.Synced || got.SyncDisabled {
			t.Errorf("enabled again: got %+v", got)
		}
	})
}

func TestAdjtimeStatus(t *testing.T) {
	got := adjtimeStatus(clock.State{Offset: time.Millisecond, FrequencyPPM: -50, Synchronised: true, Status: "STA_PLL", Leap: "TIME_OK"})
	want := timeres.AdjtimeStatusSpec{Offset: time.Millisecond, FrequencyAdjustmentRatio: 0.99995, SyncStatus: true, Status: "STA_PLL", State: "TIME_OK"}

	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A real exchange with a time server on the loopback.
func TestQueryNTP(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ahead   time.Duration
		stratum byte
		wantErr bool
	}{
		{"in step", 0, 2, false},
		{"the server is ahead", time.Hour, 2, false},
		{"the server is behind", -10 * time.Second, 3, false},
		{"the server does not know the time", 0, 16, true},
		{"kiss of death", 0, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := queryNTP(t.Context(), ntpServer(t, tt.ahead, tt.stratum))
			if (err != nil) != tt.wantErr {
				t.Fatalf("got error %v, want one: %v", err, tt.wantErr)
			}

			if err == nil && ((got.Offset-tt.ahead).Abs() > 500*time.Millisecond || got.RoundTrip > time.Second) {
				t.Errorf("got %+v, want an offset of %s", got, tt.ahead)
			}

			if kiss := (*KissError)(nil); errors.As(err, &kiss) != (tt.stratum == 0) {
				t.Errorf("got %v, want a kiss of death: %t", err, tt.stratum == 0)
			}
		})
	}
}

// ntpServer answers on the loopback with a clock that is ahead.
func ntpServer(t *testing.T, ahead time.Duration, stratum byte) string {
	t.Helper()

	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })

	stamp := func(b []byte, at time.Time) {
		at = at.Add(ahead)
		binary.BigEndian.PutUint32(b, uint32(at.Unix()+2208988800)) // from 1900
		binary.BigEndian.PutUint32(b[4:], uint32(uint64(at.Nanosecond())<<32/1e9))
	}

	go func() {
		buf := make([]byte, 512)

		for {
			n, peer, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}

			if n < 48 {
				continue
			}

			reply := make([]byte, 48)
			reply[0] = 4<<3 | 4 // version 4, server
			reply[1] = stratum
			copy(reply[12:16], "LOCL")
			stamp(reply[16:], time.Now().Add(-time.Second))
			copy(reply[24:32], buf[40:48])
			stamp(reply[32:], time.Now())
			stamp(reply[40:], time.Now())

			if _, err := conn.WriteTo(reply, peer); err != nil {
				return
			}
		}
	}()

	return conn.LocalAddr().String()
}

// status0 returns the status, if any.
func status0(ctx context.Context, st state.State) *timeres.StatusSpec {
	r, err := typed.Find[timeres.StatusSpec](ctx, st, "", timeres.StatusID)
	if err != nil || r == nil {
		return nil
	}

	return r.TypedSpec()
}

func TestDisciplinePolls(t *testing.T) {
	var d discipline

	d.sample(0, time.Millisecond, 1)

	var act correction
	for range 10 {
		act = d.sample(0, time.Millisecond, 1)
	}

	if act.poll != maxPoll {
		t.Errorf("a steady clock: got %s, want %s", act.poll, maxPoll)
	}

	for range 10 {
		act = d.sample(9*time.Millisecond, time.Millisecond, 1)
	}

	if act.poll != minPoll {
		t.Errorf("a drifting clock: got %s, want %s", act.poll, minPoll)
	}

	if got, want := constant(maxPoll), 6; got != want {
		t.Errorf("constant: got %d, want %d", got, want)
	}
}
