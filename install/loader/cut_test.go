// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/sys/efivar"
)

func read(t *testing.T, d efivar.Dir) map[string]string {
	t.Helper()

	out := map[string]string{}
	if d == "" {
		return out
	}

	list, err := os.ReadDir(string(d))
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(string(d), e.Name()))
		if err != nil {
			t.Fatal(err)
		}

		out[e.Name()] = string(b)
	}

	return out
}

func write(t *testing.T, vars map[string]string) efivar.Dir {
	t.Helper()

	dir := t.TempDir()
	for name, value := range vars {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return efivar.Dir(dir)
}

// TestAnyCut cuts the power at any write of an upgrade, of its trial, of its commit and of the removal of the old system. The boot loader
// always starts one whole entry: the old one before the trial is asked for, and the new one after the commit.
func TestAnyCut(t *testing.T) {
	kinds(t, func(t *testing.T, m *machine) {
		if _, err := m.start(); err != nil {
			t.Fatal(err)
		}

		old, second := m.runs, ""

		for _, step := range []struct {
			name string
			do   func(l loader.Loader) error
			// allowed are the versions that may start after a cut, first and then.
			first, then []string
		}{
			{"add", func(l loader.Loader) (err error) {
				second, err = l.Add(t.Context(), system("v2"))

				return err
			}, []string{"v1"}, []string{"v1"}},
			{"once", func(l loader.Loader) error { return l.SetOnce(second) }, []string{"v1", "v2"}, []string{"v1"}},
			{"trial", nil, []string{"v1"}, []string{"v1"}},
			{"once again", func(l loader.Loader) error { return l.SetOnce(second) }, []string{"v1", "v2"}, []string{"v1"}},
			{"trial again", nil, []string{"v1"}, []string{"v1"}},
			{"commit", func(l loader.Loader) error { return l.SetDefault(second) }, []string{"v1", "v2"}, []string{"v1", "v2"}},
			{"remove", func(l loader.Loader) error { return l.Remove(old) }, []string{"v2"}, []string{"v2"}},
			{"add a third", func(l loader.Loader) error {
				_, err := l.Add(t.Context(), system("v3"))

				return err
			}, []string{"v2"}, []string{"v2"}},
		} {
			m.disk.Forget()

			before := read(t, m.vars)

			if step.do == nil {
				if got, err := m.start(); err != nil || got != "v2" {
					t.Fatalf("%s: got %s, %v", step.name, got, err)
				}

				m.disk.Forget()
				before = read(t, m.vars)
			} else if err := step.do(m.loader()); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}

			states := m.cuts(t, before, read(t, m.vars), step.first, step.then)
			t.Logf("%s: %d states", step.name, states)
		}
	})
}

// cuts starts the machine twice after each cut.
func (m *machine) cuts(t *testing.T, before, after map[string]string, first, then []string) (states int) {
	t.Helper()

	for s := range m.disk.States(rand.New(rand.NewPCG(5, 14)), 3) {
		// The variables of a step are written before the disk (TestVariableIsFirst).
		vars := []map[string]string{after}
		if s.Flushes == 0 && s.Kept == 0 && !maps.Equal(before, after) {
			vars = append(vars, before)
		}

		for _, v := range vars {
			cut := &machine{t: t, disk: s.Disk.Fork(), runs: m.runs}
			if m.vars != "" {
				cut.vars = write(t, v)
			}

			for i, allowed := range [][]string{first, then} {
				if got, err := cut.start(); err != nil || !slices.Contains(allowed, got) {
					t.Fatalf("after %d flushes, %d sectors kept, start %d: got %q, %v; want %v", s.Flushes, s.Kept, i+1, got, err, allowed)
				}
			}

			// The system that starts can go on with an upgrade.
			if _, err := cut.loader().Add(t.Context(), system("v3")); err != nil {
				t.Fatalf("after %d flushes, %d sectors kept: %v", s.Flushes, s.Kept, err)
			}

			if got, err := cut.start(); err != nil || !slices.Contains(then, got) {
				t.Fatalf("after %d flushes, %d sectors kept, and an upgrade: got %q, %v; want %v", s.Flushes, s.Kept, got, err, then)
			}

			states++
		}
	}

	return states
}

// TestVariableIsFirst adds an entry to a disk that cannot be written: the entry that runs is the default one nevertheless.
func TestVariableIsFirst(t *testing.T) {
	m := newMachine(t, true)
	if _, err := m.start(); err != nil {
		t.Fatal(err)
	}

	m.disk.Writable = 0
	if _, err := m.loader().Add(t.Context(), system("v2")); err == nil {
		t.Error("an entry was added to a disk that cannot be written")
	}

	if id, err := m.loader().Default(); err != nil || id != m.runs {
		t.Errorf("got %q, %v; want %s", id, err, m.runs)
	}
}
