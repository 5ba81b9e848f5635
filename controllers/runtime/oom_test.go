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
	"github.com/seed-59268b81/talos/controllers/runtime/oomrules"
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
				short = short || s.add(now, stalledFor(stalled, step.available))
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
	system  uint64
	killed  []string
}

func (m *fakeMemory) Sample() (pressure.Sample, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	available := uint64(total)
	if m.short {
		m.stalled += 400 * time.Millisecond
		available = 0
	}

	return stalledFor(m.stalled, available), m.broken
}

// stalledFor is a sample of the memory of which all processes stalled for a time since the boot.
func stalledFor(d time.Duration, available uint64) pressure.Sample {
	return pressure.Sample{Pressure: pressure.Pressure{Full: pressure.Stall{Total: d}}, Available: available, Total: total}
}

func (m *fakeMemory) Pods() ([]pressure.Pod, error) {
	return []pressure.Pod{
		{Path: "kubepods/besteffort/pod-1", Used: 100 << 20},
		{Path: "kubepods/pod-2", Class: pressure.Guaranteed, Used: 200 << 20, Memory: pressure.Memory{Current: new(uint64(300))}},
	}, nil
}

func (m *fakeMemory) Usages() map[pressure.Class]pressure.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()

	return map[pressure.Class]pressure.Usage{pressure.System: {Current: m.system}}
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

// ends returns how many pods were ended.
func (m *fakeMemory) ends() int {
	m.mu.Lock()
	defer m.mu.Unlock()

	return len(m.killed)
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

// TestOOMExpressions: expressions decide when a pod is ended and which one. The default goes on while one of them cannot be evaluated, and the
// configuration's condition says so.
func TestOOMExpressions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMemory{}
		n := controllertest.Start(t, OOMController(m))

		condition := func(key string) string { return oomCondition + "/" + key }
		configure := func(trigger, ranking string) {
			n.Configure([]byte("apiVersion: v1alpha1\nkind: OOMConfig\ntriggerExpression: '" + trigger + "'\ncgroupRankingExpression: '" + ranking + "'\n"))
		}
		system := func(used uint64) {
			m.mu.Lock()
			defer m.mu.Unlock()

			m.system = used
		}

		// Memory is not short by the default rules. A Guaranteed pod is the only one that the ranking allows.
		configure(`qos_memory_current[System] > 5.0 && time_since_trigger > duration("10s")`, "class == Guaranteed ? double(memory_current.orValue(0u)) : 0.0")
		n.Quiet(time.Minute)
		system(6)

		got := controllertest.Wait[runtime.OOMActionSpec](n, "1", nil)
		if want := []string{"kubepods/pod-2", "17 stress"}; !slices.Equal(got.Processes, want) || got.Score != 300 {
			t.Errorf("got %+v, want score 300 and %q", got, want)
		}

		before := time.Now()

		controllertest.Wait[runtime.OOMActionSpec](n, "2", nil)

		if since := time.Since(before); since < 9*time.Second || since > 11*time.Second {
			t.Errorf("again after %s, want the time in the expression", since)
		}

		// An expression that fails: the default rules end the other pod.
		system(0)
		configure("qos_memory_current[17] > 5.0", "1.0 / double(size(path) / 0)")
		controllertest.Wait(n, condition(oomrules.TriggerKey), func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "no such key") })
		m.set(nil, true)

		got = controllertest.Wait[runtime.OOMActionSpec](n, "3", nil)
		if got.Processes[0] != "kubepods/besteffort/pod-1" {
			t.Errorf("got %+v, want the default rules", got)
		}

		controllertest.Wait(n, condition(oomrules.RankingKey), func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "division by zero") })
		n.Quiet(time.Minute)

		// The condition of the ranking stays with another trigger. That one sees no change from samples without usages.
		system(1 << 40)
		m.set(nil, false)
		configure("memory_full_avg10 > 99.0", "1.0 / double(size(path) / 0)")
		n.Quiet(time.Minute)

		killed := m.ends()
		configure("d_qos_memory_current[System] > 5.0", "1.0 / double(size(path) / 0)")
		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, condition(oomrules.TriggerKey))
		n.Quiet(time.Minute)
		controllertest.Wait[runtime.SettingConditionSpec](n, condition(oomrules.RankingKey), nil)

		if got := m.ends(); got != killed {
			t.Errorf("%d pods were ended by a change that was none", got-killed)
		}

		// One that an earlier version accepted, perhaps.
		configure("no_such_variable > 5.0", "")
		controllertest.Wait(n, condition(oomrules.TriggerKey), func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "undeclared reference") })
		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, condition(oomrules.RankingKey))

		configure("", "")
		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, condition(oomrules.TriggerKey))
		n.Quiet(time.Minute)
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
