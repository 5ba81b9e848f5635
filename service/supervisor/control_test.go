// SPDX-License-Identifier: Apache-2.0

package supervisor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/service/supervisor"
)

// TestStartWhileStopping: the last action wins, even if an earlier one is still running.
func TestStartWhileStopping(t *testing.T) {
	for _, tt := range []struct {
		name    string
		actions []string
		want    supervisor.State
	}{
		{"start", []string{"start"}, supervisor.StateRunning},
		{"start, stop", []string{"start", "stop"}, supervisor.StateFinished},
		{"start, stop, start", []string{"start", "stop", "start"}, supervisor.StateRunning},
		{"start, remove", []string{"start", "remove"}, ""},
		{"remove, start", []string{"remove", "start"}, ""},
		{"start, retire", []string{"start", "retire"}, supervisor.StateFinished},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := newSupervisor(ctx, &memoryLog{})

				err := s.Apply(supervisor.Service{ID: "kubelet", Control: supervisor.CanStart | supervisor.CanStop, Runner: supervisor.Func(
					func(ctx context.Context, _ supervisor.Run) error {
						<-ctx.Done()
						time.Sleep(time.Minute) // it takes its time to end

						return nil
					},
				)})
				if err != nil {
					t.Fatal(err)
				}

				synctest.Wait()

				for _, action := range append([]string{"stop"}, tt.actions...) {
					go func() {
						switch action {
						case "start":
							s.Start("kubelet") // the machine may go down
						case "stop":
							s.Stop(ctx, "kubelet")
						case "remove":
							s.Remove(ctx, "kubelet")
						case "retire":
							s.Retire(ctx, "kubelet")
						}
					}()

					time.Sleep(time.Second)
				}

				time.Sleep(time.Hour)
				synctest.Wait()

				if got := state(s, "kubelet"); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}

				cancel()
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestClosed: no service starts while the machine goes down, and running services are not stopped.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSupervisor(ctx, &memoryLog{})

		var (
			mu     sync.Mutex
			starts []string
		)

		for _, id := range []string{"apid", "kubelet"} {
			all := supervisor.CanStart | supervisor.CanStop | supervisor.CanRestart
			if err := s.Apply(supervisor.Service{ID: id, Control: all, Runner: blocker(&starts, &mu, id)}); err != nil {
				t.Fatal(err)
			}
		}

		synctest.Wait()

		s.Close()

		if err := s.Retire(ctx, "kubelet"); err != nil {
			t.Fatal(err)
		}

		if err := s.Apply(supervisor.Service{ID: "new", Runner: blocker(&starts, &mu, "new")}); !errors.Is(err, supervisor.ErrClosed) {
			t.Errorf("apply: got %v, want %v", err, supervisor.ErrClosed)
		}

		for id, want := range map[string]supervisor.State{"apid": supervisor.StateRunning, "kubelet": supervisor.StateFinished} {
			if err := s.Start(id); !errors.Is(err, supervisor.ErrClosed) {
				t.Errorf("start %s: got %v, want %v", id, err, supervisor.ErrClosed)
			}

			if err := s.Restart(ctx, id); !errors.Is(err, supervisor.ErrClosed) {
				t.Errorf("restart %s: got %v, want %v", id, err, supervisor.ErrClosed)
			}

			synctest.Wait()

			if got := state(s, id); got != want {
				t.Errorf("%s: got %s, want %s", id, got, want)
			}
		}

		cancel()
		synctest.Wait()
	})
}

// TestHealthPanics: a health check that panics counts as failed.
func TestHealthPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSupervisor(ctx, &memoryLog{})

		var (
			mu     sync.Mutex
			starts []string
		)

		check := func(context.Context) error { panic("boom") }
		if err := s.Apply(supervisor.Service{ID: "etcd", Runner: blocker(&starts, &mu, "etcd"), Health: &supervisor.Health{Check: check}}); err != nil {
			t.Fatal(err)
		}

		time.Sleep(time.Minute)

		if st, _ := s.Status("etcd"); st.Health.Healthy || st.Health.LastMessage != "panic: boom" {
			t.Errorf("got %+v, want the panic", st.Health)
		}

		cancel()
		synctest.Wait()
	})
}
