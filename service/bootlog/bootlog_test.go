// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var small = Limits{Segment: 4 << 10, Boot: 16 << 10, Total: 40 << 10, Boots: 4, Pending: 8 << 10, Rate: 1 << 20, Burst: 1 << 20}

func none() Evidence { return Evidence{} }

// start opens a journal as one boot of a machine.
func start(t *testing.T, dir, id string, limits Limits, gather func() Evidence) *Journal {
	t.Helper()

	j := New(limits)
	if err := j.Open(dir, Boot{ID: id, Start: time.Now()}, func(err error) { t.Log(err) }); err != nil {
		t.Fatal(err)
	}

	if err := j.Settle(gather()); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { j.Close() }) // some are cut off

	return j
}

func flush(t *testing.T, j *Journal) {
	t.Helper()

	j.mu.Lock()
	defer j.mu.Unlock()

	if err := j.write(false); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, j *Journal, boot int, id string, tail int) string {
	t.Helper()

	var b strings.Builder

	err := j.Read(t.Context(), boot, id, tail, func(p []byte) error {
		if len(p) > 2*maxLine+chunk {
			t.Errorf("got a chunk of %d bytes", len(p))
		}

		b.Write(p)

		return nil
	})
	if err != nil {
		t.Fatalf("boot %d, log %s: %v", boot, id, err)
	}

	return b.String()
}

func TestBoots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log", "boots")
	early := New(DefaultLimits)
	early.Append("machined", []byte("before the disk"))

	if _, err := early.Boots(); !errors.Is(err, ErrClosed) {
		t.Errorf("boots of a closed journal: got %v, want %v", err, ErrClosed)
	}

	if err := early.Open(dir, Boot{ID: "one", Start: time.Now(), Version: "v1"}, func(error) {}); err != nil {
		t.Fatal(err)
	}

	for i := range 3 {
		early.Append("etcd", fmt.Appendf(nil, "line %d", i))
	}

	for _, reason := range []string{"reboot over the API, actor x", "another"} {
		if err := early.End(reason); err != nil {
			t.Fatal(err)
		}
	}

	early.Append("machined", []byte("after its end was recorded"))

	if err := early.Close(); err != nil {
		t.Fatal(err)
	}

	second := start(t, dir, "two", DefaultLimits, none)
	second.Append("machined", []byte("again"))
	flush(t, second) // and no more: the power is cut

	third := start(t, dir, "three", DefaultLimits, none)

	boots, err := third.Boots()
	if err != nil {
		t.Fatal(err)
	}

	var got []string

	for _, b := range boots {
		if b.Start.IsZero() || b.End.IsZero() != (b.ID == "three") {
			t.Errorf("boot %s: from %s to %s", b.ID, b.Start, b.End)
		}

		got = append(got, b.ID+": "+b.Reason)
	}

	if diff := cmp.Diff([]string{"three: ", "two: " + Unexplained, "one: reboot over the API, actor x"}, got); diff != "" {
		t.Errorf("boots (-want +got):\n%s", diff)
	}

	for _, tt := range []struct {
		boot int
		id   string
		tail int
		want string
	}{
		{-2, "etcd", -1, "line 0\nline 1\nline 2\n"},
		{-2, "etcd", 1, "line 2\n"},
		{-2, "etcd", 0, ""},
		{-2, "etcd", 9, "line 0\nline 1\nline 2\n"},
		{-2, "machined", -1, "before the disk\nafter its end was recorded\n"},
		{-1, "machined", -1, "again\n"},
	} {
		if got := read(t, third, tt.boot, tt.id, tt.tail); got != tt.want {
			t.Errorf("boot %d, %s, tail %d: got %q, want %q", tt.boot, tt.id, tt.tail, got, tt.want)
		}
	}

	if ids, err := third.IDs(t.Context(), -2); err != nil || strings.Join(ids, " ") != "etcd machined" {
		t.Errorf("logs of the first boot: got %v, %v", ids, err)
	}

	for _, tt := range []struct {
		boot int
		id   string
		want error
	}{{-3, "etcd", ErrNoBoot}, {1, "etcd", ErrNoBoot}, {-1 << 63, "etcd", ErrNoBoot}, {-1, "etcd", ErrNoLog}} {
		if err := third.Read(t.Context(), tt.boot, tt.id, -1, nil); !errors.Is(err, tt.want) {
			t.Errorf("boot %d, %s: got %v, want %v", tt.boot, tt.id, err, tt.want)
		}
	}
}

// TestSameBoot: a volume that is unmounted and mounted again is not a new boot.
func TestSameBoot(t *testing.T) {
	dir := t.TempDir()

	for i := range 3 {
		j := start(t, dir, "one", DefaultLimits, func() Evidence { return Evidence{Watchdog: true} })
		j.Append("etcd", fmt.Appendf(nil, "%d", i))

		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}

	j := start(t, dir, "one", DefaultLimits, none)
	if got := read(t, j, 0, "etcd", -1); got != "0\n1\n2\n" {
		t.Errorf("got %q", got)
	}

	if boots, err := j.Boots(); err != nil || len(boots) != 1 || boots[0].Reason != "" {
		t.Errorf("got %+v, %v, want one boot that runs", boots, err)
	}
}

// TestPowerCut cuts a segment at each of its bytes, and fills the rest with zeros as a file system may.
func TestPowerCut(t *testing.T) {
	dir := t.TempDir()
	j := start(t, dir, "one", DefaultLimits, none)

	want := []string{}

	for i := range 5 {
		want = append(want, strings.Repeat("x", i*7))
		j.Append("etcd", []byte(want[i]))
	}

	flush(t, j)

	path := filepath.Join(dir, "00000001", "00000001.log")

	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for n := range whole {
		for _, tail := range [][]byte{nil, make([]byte, 64), bytes.Repeat([]byte{0xff}, 64)} {
			if err := os.WriteFile(path, append(bytes.Clone(whole[:n]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}

			var got []string

			err := eachLine(path, func(l line) error {
				got = append(got, string(l.text))

				return nil
			})
			if err != nil || len(got) >= len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Fatalf("cut at %d: got %q, %v", n, got, err)
			}
		}
	}

	// The record of a boot may be missing or damaged.
	if err := os.WriteFile(filepath.Join(dir, "00000001", recordFile), []byte("{rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}

	next := start(t, dir, "two", DefaultLimits, none)

	if boots, err := next.Boots(); err != nil || len(boots) != 2 || boots[1].Reason != Unexplained {
		t.Errorf("got %+v, %v", boots, err)
	}
}

// TestBounds writes more lines and boots than the limits allow.
func TestBounds(t *testing.T) {
	dir := t.TempDir()

	for b := range 8 {
		j := start(t, dir, fmt.Sprint(b), small, none)

		for i := range 600 {
			j.Append("etcd", fmt.Appendf(nil, "%d %04d %s", b, i, strings.Repeat("x", 100)))

			if i%20 == 0 {
				flush(t, j)
			}

			if size := sizeOf(filepath.Join(dir, fmt.Sprintf("%08d", b+1))); size > small.Boot+2*small.Segment {
				t.Fatalf("boot %d has %d bytes", b, size)
			}
		}

		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}

	j := start(t, dir, "last", small, none)

	boots, err := j.Boots()
	if err != nil || len(boots) > small.Boots || len(boots) < 2 {
		t.Errorf("got %d boots, %v", len(boots), err)
	}

	var total int64
	for i := range boots {
		total += sizeOf(filepath.Join(dir, fmt.Sprintf("%08d", 9-i)))
	}

	if total > small.Total {
		t.Errorf("got %d bytes in all, want at most %d", total, small.Total)
	}

	if got := read(t, j, -1, "etcd", 1); !strings.HasPrefix(got, "7 0599 ") {
		t.Errorf("the last line: got %.20q", got)
	}
}

func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	q := newQueue(Limits{Pending: 1 << 20, Rate: 100, Burst: 200}, func() time.Time { return now })

	add := func(id string, count int) string {
		for i := range count {
			q.add(id, fmt.Appendf(nil, "%s%d", id, i))
		}

		var got []string

		defer q.kept()

		for f := newFrames(bytes.NewReader(q.take())); ; {
			l, err := f.next()
			if errors.Is(err, io.EOF) {
				return strings.Join(got, " ")
			}

			if err != nil {
				t.Fatal(err)
			}

			got = append(got, string(l.text))
		}
	}

	// A line of two bytes with an id of one byte takes 20 bytes: the burst is ten lines.
	for _, tt := range []struct {
		wait time.Duration
		id   string
		want string
	}{
		{0, "a", "a0 a1 a2 a3 a4 a5 a6 a7 a8 a9"},
		{0, "b", "b0 b1 b2 b3 b4 b5 b6 b7 b8 b9"},
		{0, "a", ""},
		{time.Second, "a", "… 10 lines came too fast to be kept a0 a1 a2 a3 a4"},
		{-time.Hour, "a", ""},
		{1000 * time.Hour, "b", "b0 b1 b2 b3 b4 b5 b6 b7 b8 b9"},
	} {
		now = now.Add(tt.wait)

		if got := add(tt.id, 10); got != tt.want {
			t.Errorf("after %s: got %q, want %q", tt.wait, got, tt.want)
		}
	}

	q = newQueue(Limits{Pending: 100, Rate: 1 << 20, Burst: 1 << 20}, func() time.Time { return now })
	for range 1000 {
		q.add("a", make([]byte, 20))
	}

	if n := len(q.pending); n > 100 || n == 0 {
		t.Errorf("%d bytes are pending, want at most 100", n)
	}

	// Records that are being written count towards the limit, because they may be put back.
	taken := q.take()
	q.add("b", make([]byte, 20))

	if q.putBack(taken); !bytes.Equal(q.pending, taken) || q.logs["b"].dropped != 1 {
		t.Errorf("put back: %d bytes are pending, want the %d that were taken; %d lines counted as dropped, want 1", len(q.pending), len(taken), q.logs["b"].dropped)
	}
}

func TestReadStops(t *testing.T) {
	j := start(t, t.TempDir(), "one", DefaultLimits, none)

	for range 10_000 {
		j.Append("etcd", make([]byte, 100))
	}

	flush(t, j)

	ctx, cancel := context.WithCancel(t.Context())
	calls := 0

	err := j.Read(ctx, 0, "etcd", -1, func([]byte) error {
		calls++
		cancel()

		return nil
	})
	if err != nil || calls != 1 {
		t.Errorf("got %d calls, %v", calls, err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, line{time.Unix(1, 2), "etcd", []byte("hello")}), line{}))
	f.Add([]byte("\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, in []byte) {
		var again []byte

		for r := newFrames(bytes.NewReader(in)); ; {
			l, err := r.next()
			if err != nil {
				break
			}

			again = appendFrame(again, l)
		}

		if !bytes.HasPrefix(in, again) {
			t.Errorf("what was read is not what was there: %q, %q", in, again)
		}
	})
}
