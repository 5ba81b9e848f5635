// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/pressure"
)

const total = 1000 << 20

func TestShortage(t *testing.T) {
	type step struct {
		stalled   time.Duration // since the step before
		available uint64
	}

	steps := func(n int, s step) []step { return slices.Repeat([]step{s}, n) }

	for _, tt := range []struct {
		name  string
		steps []step
		want  bool
	}{
		{"short", steps(9, step{300 * time.Millisecond, total / 50}), true},
		{"not long enough", steps(8, step{500 * time.Millisecond, total / 50}), false},
		{"pods at their limits", steps(60, step{500 * time.Millisecond, total / 2}), false},
		{"little is available, and everything runs", steps(60, step{20 * time.Millisecond, total / 50}), false},
		{"enough in between", slices.Concat(steps(8, step{300 * time.Millisecond, 0}), steps(1, step{0, total}), steps(8, step{300 * time.Millisecond, 0})), false},
		{"stalled long ago", slices.Concat(steps(8, step{120 * time.Millisecond, 0}), steps(60, step{0, 0})), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var (
				s       shortage
				stalled time.Duration
				short   bool
			)

			now := time.Unix(0, 0)

			for _, step := range tt.steps {
				now, stalled = now.Add(500*time.Millisecond), stalled+step.stalled
				short = short || s.add(now, pressure.Sample{Stalled: stalled, Available: step.available, Total: total})
			}

			if short != tt.want {
				t.Errorf("got %t", short)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	small := pressure.Pod{Path: "small", Used: 1 << 20}
	light := pressure.Pod{Path: "light", Used: 20 << 20}
	medium := pressure.Pod{Path: "medium", Used: 30 << 20}
	heavy := pressure.Pod{Path: "heavy", Class: pressure.Burstable, Used: 500 << 20}
	server := pressure.Pod{Path: "server", Class: pressure.Burstable, Static: true, Used: 900 << 20}
	safe := pressure.Pod{Path: "safe", Class: pressure.Guaranteed, Used: 900 << 20}

	for _, tt := range []struct {
		name    string
		pods    []pressure.Pod
		byClass bool
		want    string
	}{
		{"by class", []pressure.Pod{heavy, small, light, medium, server, safe}, true, "medium"},
		{"by class, in another order", []pressure.Pod{medium, light, heavy}, true, "medium"},
		{"by use", []pressure.Pod{medium, heavy, light, server, safe}, false, "heavy"},
		{"those that use little do not help", []pressure.Pod{small, heavy}, true, "heavy"},
		{"none", []pressure.Pod{server, safe, small}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, score := choose(tt.pods, tt.byClass, total)
			if got.Path != tt.want || (score > 0) != (tt.want != "") {
				t.Errorf("got %q with %v, want %q", got.Path, score, tt.want)
			}
		})
	}
}

// fakeMemory is short of memory until a pod is killed.
type fakeMemory struct {
	mu      sync.Mutex
	broken  error
	short   bool
	stalled time.Duration
	killed  []string
}

func (m *fakeMemory) Sample() (pressure.Sample, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	s := pressure.Sample{Total: total, Available: total}
	if m.short {
		m.stalled += 400 * time.Millisecond
		s.Available = 0
	}

	s.Stalled = m.stalled

	return s, m.broken
}

func (m *fakeMemory) Pods() ([]pressure.Pod, error) {
	return []pressure.Pod{{Path: "kubepods/besteffort/pod-1", Used: 100 << 20}}, nil
}

func (m *fakeMemory) Kill(p pressure.Pod) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.killed, m.short = append(m.killed, p.Path), false

	return []string{"17 stress"}, nil
}

func (m *fakeMemory) set(broken error, short bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.broken, m.short = broken, short
}

// TestOOM: one pod is ended when memory is short, and each end is shown, the last ones only. A kernel that does not measure is shown.
func TestOOM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMemory{}
		n := controllertest.Start(t, OOMController(m))
		n.Quiet(time.Hour)

		m.set(nil, true)

		got := controllertest.Wait[runtime.OOMActionSpec](n, "1", nil)
		if want := []string{"kubepods/besteffort/pod-1", "17 stress"}; !slices.Equal(got.Processes, want) || got.Score != 100<<20 {
			t.Errorf("got %+v", got)
		}

		n.Quiet(time.Hour)

		for range oomActions {
			m.set(nil, true)
			time.Sleep(time.Minute)
		}

		controllertest.Wait[runtime.OOMActionSpec](n, "31", nil)
		cositest.WaitGone[runtime.OOMActionSpec](n.Environment, "1")

		if len(m.killed) != oomActions+1 {
			t.Errorf("got %d", len(m.killed))
		}

		m.set(errors.New("no pressure"), false)
		controllertest.Wait(n, oomCondition, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "no pressure") })
		n.Quiet(time.Hour)
		m.set(nil, false)
		time.Sleep(oomRetry)
		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, oomCondition)
	})
}

func TestProcessesOf(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"cgroup/pod-1/cgroup.procs": "", "cgroup/pod-1/c1/cgroup.procs": "7\n8\n", "cgroup/pod-2/cgroup.procs": "9\n", "proc/7/comm": "stress\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	got := processesOf(filepath.Join(root, "cgroup"), filepath.Join(root, "proc"), "pod-1")
	if diff := cmp.Diff([]string{"7 stress", "8 "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
