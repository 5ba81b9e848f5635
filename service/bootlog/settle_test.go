// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSettle: a boot has logs and an end before it is known how the one before it ended. Settle records that later.
func TestSettle(t *testing.T) {
	dir := t.TempDir()
	open := func(id string) *Journal {
		t.Helper()

		j := New(DefaultLimits)
		if err := j.Open(dir, Boot{ID: id, Start: time.Now()}, func(error) {}); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { j.Close() }) // one is cut off

		j.Append("machined", []byte("this is "+id))

		return j
	}

	one := open("one")
	flush(t, one) // and no more: the power is cut

	two := open("two")
	if err := errors.Join(two.End("reboot"), two.Close()); err != nil {
		t.Fatal(err)
	}

	// The evidence is gathered too late.
	if err := two.Settle(Evidence{Panic: "kernel panic: died"}); err != nil {
		t.Fatal(err)
	}

	three := open("three")
	defer three.Close()

	for range 2 {
		if err := three.Settle(Evidence{Watchdog: true}); err != nil {
			t.Fatal(err)
		}
	}

	boots, err := three.Boots()
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, b := range boots {
		got = append(got, b.ID+": "+b.Reason)
	}

	if want := []string{"three: ", "two: reboot", "one: " + Unexplained}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEvidenceOfABootWithoutLogs: the firmware's lines of a boot that came to no logs are in the next one's.
func TestEvidenceOfABootWithoutLogs(t *testing.T) {
	dir := t.TempDir()

	one := New(DefaultLimits)
	if err := errors.Join(one.Open(dir, Boot{ID: "one", Start: time.Now()}, func(error) {}), one.End("upgrade"), one.Close()); err != nil {
		t.Fatal(err)
	}

	three := New(DefaultLimits)
	if err := three.Open(dir, Boot{ID: "three", Start: time.Now()}, func(error) {}); err != nil {
		t.Fatal(err)
	}

	defer three.Close()

	e := Evidence{Panic: "kernel panic: no init", Lines: []string{"the last line"}}
	if err := three.Settle(e); err != nil {
		t.Fatal(err)
	}

	flush(t, three)

	got := read(t, three, 0, PStore, -1)
	if !strings.Contains(got, "left no logs: "+e.Reason()) || !strings.Contains(got, "the last line") {
		t.Errorf("got %q", got)
	}
}
