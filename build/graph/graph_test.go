// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// events records which steps ran and which were in the cache.
type events struct {
	mu     sync.Mutex
	ran    map[string]int
	cached map[string]int
}

func newEvents() *events { return &events{ran: map[string]int{}, cached: map[string]int{}} }

func (*events) Waiting(string, []string) {}
func (*events) Progress(_, _ string)     {}
func (*events) Failed(string, error)     {}
func (*events) Started(string)           {}
func (e *events) Finished(s string, cached bool, _ time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if cached {
		e.cached[s]++
	} else {
		e.ran[s]++
	}
}

// write returns a step that writes text() to a file named after it.
func write(name string, text func() string, needs ...string) Step {
	return Step{
		Name:  name,
		Needs: needs,
		Inputs: func(context.Context, Results) ([]string, error) {
			return []string{text()}, nil
		},
		Run: func(_ context.Context, w *Work) error {
			content := text()

			for _, n := range needs {
				raw, err := os.ReadFile(filepath.Join(w.Needs[n].Dir, n))
				if err != nil {
					return err
				}

				content += string(raw)
			}

			return os.WriteFile(filepath.Join(w.Dir, name), []byte(content), 0o644)
		},
		Publish: map[string]string{name: "bin/" + name},
	}
}

func TestRunOnlyWhatChanged(t *testing.T) {
	cache, out := t.TempDir(), t.TempDir()
	a, b := "a", "b"

	run := func() *events {
		t.Helper()

		g := New(cache, out)
		g.Add(write("one", func() string { return a }))
		g.Add(write("two", func() string { return b }, "one"))
		g.Add(Step{
			// Its result does not depend on its inputs, like that of a compiler after a change of a comment.
			Name: "constant", Needs: []string{"one"},
			Run: func(_ context.Context, w *Work) error {
				return os.WriteFile(filepath.Join(w.Dir, "c"), []byte("c"), 0o644)
			},
		})
		g.Add(write("last", func() string { return "l" }))
		g.Add(Step{
			Name: "after-constant", Needs: []string{"constant"},
			Run: func(context.Context, *Work) error { return nil },
		})

		e := newEvents()
		if err := g.Run(t.Context(), e, "two", "after-constant", "last"); err != nil {
			t.Fatal(err)
		}

		return e
	}

	all := map[string]int{"one": 1, "two": 1, "constant": 1, "after-constant": 1, "last": 1}

	if diff := cmp.Diff(all, run().ran); diff != "" {
		t.Errorf("first run, steps that ran (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(all, run().cached); diff != "" {
		t.Errorf("second run, steps from the cache (-want +got):\n%s", diff)
	}

	b = "B"

	if diff := cmp.Diff(map[string]int{"two": 1}, run().ran); diff != "" {
		t.Errorf("after a change of b, steps that ran (-want +got):\n%s", diff)
	}

	if got, _ := os.ReadFile(filepath.Join(out, "bin/two")); string(got) != "Ba" {
		t.Errorf("bin/two: got %q, want %q", got, "Ba")
	}

	a = "A"

	if diff := cmp.Diff(map[string]int{"one": 1, "two": 1, "constant": 1}, run().ran); diff != "" {
		t.Errorf("after a change of a, steps that ran (-want +got):\n%s", diff)
	}

	a, b = "a", "b"

	if diff := cmp.Diff(map[string]int{}, run().ran); diff != "" {
		t.Errorf("back at the first inputs, steps that ran (-want +got):\n%s", diff)
	}

	if got, _ := os.ReadFile(filepath.Join(out, "bin/two")); string(got) != "ba" {
		t.Errorf("bin/two after going back: got %q, want %q", got, "ba")
	}
}

func TestPublishRepairs(t *testing.T) {
	cache, out := t.TempDir(), t.TempDir()
	g := New(cache, out)
	g.Add(Step{
		Name: "tree",
		Run: func(_ context.Context, w *Work) error {
			if err := os.MkdirAll(filepath.Join(w.Dir, "sub"), 0o755); err != nil {
				return err
			}

			return errors.Join(
				os.WriteFile(filepath.Join(w.Dir, "sub/file"), []byte("x"), 0o644),
				os.Symlink("file", filepath.Join(w.Dir, "sub/link")),
			)
		},
		Publish: map[string]string{".": "tree"},
	})

	damage := map[string]func(dir string) error{
		"nothing":        func(string) error { return nil },
		"file removed":   func(d string) error { return os.Remove(filepath.Join(d, "sub/file")) },
		"file added":     func(d string) error { return os.WriteFile(filepath.Join(d, "sub/more"), nil, 0o644) },
		"folder added":   func(d string) error { return os.Mkdir(filepath.Join(d, "more"), 0o755) },
		"all removed":    os.RemoveAll,
		"file exchanged": func(d string) error { return exchange(filepath.Join(d, "sub/file")) },
		"link exchanged": func(d string) error { return exchange(filepath.Join(d, "sub/link")) },
		"half published": func(d string) error { return os.MkdirAll(d+".next/sub", 0o755) },
		"mode changed":   func(d string) error { return os.Chmod(filepath.Join(d, "sub"), 0o700) },
	}

	if err := g.Run(t.Context(), newEvents(), "tree"); err != nil {
		t.Fatal(err)
	}

	want, err := hashTree(filepath.Join(out, "tree"))
	if err != nil {
		t.Fatal(err)
	}

	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(out, "tree")
			if err := do(dir); err != nil {
				t.Fatal(err)
			}

			if err := g.Run(t.Context(), newEvents(), "tree"); err != nil {
				t.Fatal(err)
			}

			if got, err := hashTree(dir); err != nil || got != want {
				t.Errorf("published tree: got digest %s (%v), want %s", got, err, want)
			}
		})
	}
}

// TestChangedResult changes a file of a result in place, as a program does that writes to a file of the output folder. The step runs again.
func TestChangedResult(t *testing.T) {
	cache, out := t.TempDir(), t.TempDir()
	g := New(cache, out)
	g.Add(write("s", func() string { return "right" }))

	for _, before := range []func(path string) error{
		func(string) error { return nil },
		func(path string) error { return os.WriteFile(path, []byte("wrong"), 0o644) },
		func(path string) error { return os.Chmod(path, 0o600) },
	} {
		path := filepath.Join(out, "bin/s")
		if _, err := os.Stat(path); err == nil {
			if err := before(path); err != nil {
				t.Fatal(err)
			}
		}

		if err := g.Run(t.Context(), newEvents(), "s"); err != nil {
			t.Fatal(err)
		}

		if got, err := os.ReadFile(path); string(got) != "right" {
			t.Errorf("got %q, %v, want what the step writes", got, err)
		}

		if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
			t.Errorf("got the mode %v, %v, want that of the step", info.Mode(), err)
		}
	}
}

func exchange(path string) error {
	return errors.Join(os.Remove(path), os.WriteFile(path, []byte("other"), 0o644))
}

func TestFailureStopsTheRest(t *testing.T) {
	cause := errors.New("no compiler")
	g := New(t.TempDir(), t.TempDir())
	g.Add(Step{Name: "bad", Run: func(_ context.Context, w *Work) error {
		return errors.Join(os.WriteFile(filepath.Join(w.Dir, "half"), nil, 0o644), cause)
	}})
	g.Add(write("after", func() string { return "" }, "bad"))

	e := newEvents()

	err := g.Run(t.Context(), e, "after")
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "step bad") {
		t.Errorf("got error %v, want one that names step bad and wraps %v", err, cause)
	}

	if len(e.ran) != 0 {
		t.Errorf("steps finished: got %v, want none", e.ran)
	}

	// An incomplete result must not be used.
	if left, _ := filepath.Glob(filepath.Join(g.cache, "bad", "*")); len(left) != 0 {
		t.Errorf("left in the cache: got %v, want nothing", left)
	}
}

func TestOrderErrors(t *testing.T) {
	g := New(t.TempDir(), t.TempDir())
	g.Add(Step{Name: "a", Needs: []string{"b"}})
	g.Add(Step{Name: "b", Needs: []string{"c"}})
	g.Add(Step{Name: "c", Needs: []string{"a"}})
	g.Add(Step{Name: "d", Needs: []string{"gone"}})

	for name, want := range map[string]string{"a": "a → b → c → a", "d": `unknown step "gone"`, "x": `unknown step "x"`} {
		if err := g.Run(t.Context(), newEvents(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("running %s: got error %v, want one with %q", name, err, want)
		}
	}
}

func TestKey(t *testing.T) {
	base := func() string {
		return key(Step{Name: "s", Needs: []string{"n"}}, []string{"a", "b"}, Results{"n": {Digest: "1"}})
	}
	others := map[string]string{
		"other name":       key(Step{Name: "t", Needs: []string{"n"}}, []string{"a", "b"}, Results{"n": {Digest: "1"}}),
		"inputs run on":    key(Step{Name: "s", Needs: []string{"n"}}, []string{"ab"}, Results{"n": {Digest: "1"}}),
		"other order":      key(Step{Name: "s", Needs: []string{"n"}}, []string{"b", "a"}, Results{"n": {Digest: "1"}}),
		"other result":     key(Step{Name: "s", Needs: []string{"n"}}, []string{"a", "b"}, Results{"n": {Digest: "2"}}),
		"no need":          key(Step{Name: "s"}, []string{"a", "b"}, Results{"n": {Digest: "1"}}),
		"need among input": key(Step{Name: "s"}, []string{"a", "b", "n", "1"}, nil),
	}

	if a, b := base(), base(); a != b {
		t.Error("the key of the same inputs differs from call to call")
	}

	for name, got := range others {
		if got == base() {
			t.Errorf("%s: got the same key %s, want another", name, got)
		}
	}

	// Only the digest of a result counts, not its path.
	moved := key(Step{Name: "s", Needs: []string{"n"}}, []string{"a", "b"}, Results{"n": {Digest: "1", Dir: "/elsewhere"}})
	if moved != base() {
		t.Errorf("key after the cache moved: got %s, want %s", moved, base())
	}
}

func TestPruneKeepsTheNewest(t *testing.T) {
	cache, out := t.TempDir(), t.TempDir()

	for i := range kept + 2 {
		g := New(cache, out)
		g.Add(write("s", func() string { return fmt.Sprint(i) }))

		if err := g.Run(t.Context(), newEvents(), "s"); err != nil {
			t.Fatal(err)
		}
	}

	if got, _ := filepath.Glob(filepath.Join(cache, "s", "*.json")); len(got) != kept {
		t.Errorf("results in the cache: got %d, want %d", len(got), kept)
	}

	if got, _ := os.ReadFile(filepath.Join(out, "bin/s")); string(got) != fmt.Sprint(kept+1) {
		t.Errorf("published: got %q, want the newest, %d", got, kept+1)
	}
}

func TestHeavySlots(t *testing.T) {
	const heavy, slots = 6, 2

	var (
		mu        sync.Mutex
		now, most int
	)

	g := New(t.TempDir(), t.TempDir())
	g.Slots = slots

	var names []string

	for i := range heavy {
		name := fmt.Sprint("heavy", i)
		names = append(names, name)

		g.Add(Step{Name: name, Heavy: true, Run: func(context.Context, *Work) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()

			time.Sleep(5 * time.Millisecond)

			mu.Lock()
			now--
			mu.Unlock()

			return nil
		}})
	}

	if err := g.Run(t.Context(), newEvents(), names...); err != nil {
		t.Fatal(err)
	}

	if most > slots {
		t.Errorf("heavy steps at once: got %d, want at most %d", most, slots)
	}
}
