// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/test/replay"
)

// recording returns the recording of a log, on a disk of the letter o.
func recording(t testing.TB, l *replay.Log, size int64) *replay.Recording {
	t.Helper()

	b := l.Encode(func(n int) []byte { return bytes.Repeat([]byte{byte('a' + n)}, int(l.Entries[n].Length)) })

	read, err := replay.ReadLog(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}

	return &replay.Recording{Before: strings.NewReader(strings.Repeat("o", int(size))), Size: size, Log: read, Data: bytes.NewReader(b)}
}

// letters returns the first letter of each sector; a sector with different ones is an error.
func letters(t *testing.T, s *replay.State) string {
	t.Helper()

	b := make([]byte, s.Size())
	if _, err := s.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}

	var out []byte

	for sector := range slices.Chunk(b, 512) {
		if text := string(sector); !strings.HasPrefix(text, "discarded") && strings.Count(text, text[:1]) != len(text) {
			t.Fatalf("%s: a sector is torn", s)
		}

		out = append(out, max(sector[0], '0'))
	}

	return string(out)
}

// TestStates holds which states there are.
func TestStates(t *testing.T) {
	two := replay.Entry{Offset: 1024, Length: 1024}
	one := replay.Entry{Offset: 512, Length: 512}
	flush := replay.Entry{Flags: replay.Flush}

	for name, tt := range map[string]struct {
		entries  []replay.Entry
		from, to int
		want     string
	}{
		"a torn write":        {[]replay.Entry{two}, 0, 9, "oooo ooao oooa ooaa"},
		"either order":        {[]replay.Entry{one, {Offset: 0, Length: 512}}, 0, 9, "oooo oaoo booo baoo"},
		"after a flush":       {[]replay.Entry{one, flush, {Offset: 0, Length: 512}}, 0, 9, "oooo oaoo caoo"},
		"from a flush on":     {[]replay.Entry{one, flush, {Offset: 0, Length: 512}}, 2, 9, "oaoo caoo"},
		"until a flush":       {[]replay.Entry{one, flush, {Offset: 0, Length: 512}}, 0, 2, "oooo oaoo"},
		"a flush with data":   {[]replay.Entry{one, {Offset: 0, Length: 512, Flags: replay.Flush}}, 1, 9, "oooo oaoo baoo"},
		"FUA":                 {[]replay.Entry{{Offset: 512, Length: 512, Flags: replay.FUA}, {Offset: 0, Length: 512}}, 0, 9, "oooo oaoo baoo"},
		"discarded":           {[]replay.Entry{{Offset: 512, Length: 512, Flags: replay.Discard}, flush}, 0, 9, "oooo o0oo odoo"},
		"written again":       {[]replay.Entry{{Offset: 0, Length: 2048, Flags: replay.Discard}, flush, one}, 2, 9, "0000 0c00"},
		"discarded again":     {[]replay.Entry{one, flush, {Offset: 0, Length: 2048, Flags: replay.Discard}, flush}, 4, 9, "0000"},
		"nothing after flush": {[]replay.Entry{one, flush}, 2, 2, "oaoo"},
	} {
		seen := map[string]bool{}

		for s := range recording(t, &replay.Log{SectorSize: 512, Entries: tt.entries}, 2048).States(rand.New(rand.NewPCG(1, 2)), tt.from, tt.to, 300) {
			seen[letters(t, s)] = true
		}

		want := strings.Fields(tt.want)

		for _, w := range want {
			if !seen[w] {
				t.Errorf("%s: there is no %s", name, w)
			}

			delete(seen, w)
		}

		if name != "discarded" && len(seen) > 0 {
			t.Errorf("%s: there are also %v", name, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// TestWriteState writes to a state. The next one does not see it.
func TestWriteState(t *testing.T) {
	r := recording(t, &replay.Log{SectorSize: 512, Entries: []replay.Entry{{Offset: 1024, Length: 1024}, {Flags: replay.Flush}}}, 4096)

	for s := range r.States(rand.New(rand.NewPCG(1, 2)), 0, 9, 3) {
		b := make([]byte, 4096)
		if _, err := s.ReadAt(b, 0); err != nil || bytes.Contains(b, []byte("x")) {
			t.Fatalf("%s: %v, %q", s, err, b)
		}

		x := bytes.Repeat([]byte("x"), 1500)
		if _, err := s.WriteAt(x, 700); err != nil {
			t.Fatal(err)
		}

		copy(b[700:], x)

		for _, part := range [][2]int64{{0, 4096}, {1, 3000}, {699, 3}, {1024, 512}, {2199, 2}} {
			got := make([]byte, part[1])
			if _, err := s.ReadAt(got, part[0]); err != nil || !bytes.Equal(got, b[part[0]:][:part[1]]) {
				t.Fatalf("%s: %d bytes at %d: %v, %q", s, part[1], part[0], err, got)
			}
		}

		if n, err := s.ReadAt(make([]byte, 10), 4090); n != 6 || err == nil {
			t.Errorf("the end: got %d, %v", n, err)
		}

		if _, err := s.WriteAt(x, 3000); err == nil {
			t.Error("a write after the end succeeded")
		}
	}
}

func BenchmarkReadAt(b *testing.B) {
	l := &replay.Log{SectorSize: 512}
	for i := range int64(1000) {
		l.Entries = append(l.Entries, replay.Entry{Offset: i * 8192, Length: 4096})
	}

	block := make([]byte, 1<<20)

	for s := range recording(b, l, 8<<20).States(rand.New(rand.NewPCG(1, 2)), 1000, 1001, 0) {
		b.SetBytes(int64(len(block)))

		for b.Loop() {
			if _, err := s.ReadAt(block, 1<<20); err != nil {
				b.Fatal(err)
			}
		}
	}
}
