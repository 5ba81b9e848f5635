// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/test/replay"
)

// sample is a log with an entry of each kind. Write n writes bytes of n.
func sample() *replay.Log {
	return &replay.Log{SectorSize: 512, Entries: []replay.Entry{
		{Offset: 1024, Length: 1024},
		{Flags: replay.Flush},
		{Offset: 0, Length: 512, Flags: replay.FUA},
		{Offset: 512, Length: 512},
		{Offset: 1 << 40, Length: 512, Flags: replay.Flush | replay.Metadata},
		{Offset: 0, Length: 4096, Flags: replay.Discard},
		{Flags: replay.Mark},
	}}
}

func encoded(l *replay.Log) []byte {
	return l.Encode(func(n int) []byte { return bytes.Repeat([]byte{byte(n + 1)}, int(l.Entries[n].Length)) })
}

func TestReadLog(t *testing.T) {
	want := sample()
	b := encoded(want)

	got, err := replay.ReadLog(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}

	for i := range got.Entries {
		e := &got.Entries[i]
		if e.Length > 0 && e.Flags&replay.Discard == 0 && b[e.Data] != byte(i+1) {
			t.Errorf("entry %d: its data are not at %d", i, e.Data)
		}

		e.Data = 0
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if got.Flushes() != 2 || got.Written() != 2560 {
		t.Errorf("got %d flushes, %d bytes", got.Flushes(), got.Written())
	}
}

func TestReadLogRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(b []byte) []byte
		want   string
	}{
		"nothing":         {func([]byte) []byte { return nil }, "super block: EOF"},
		"another file":    {func(b []byte) []byte { b[0]++; return b }, "unknown magic"},
		"a new version":   {func(b []byte) []byte { b[8]++; return b }, "version 2 is not known"},
		"odd sectors":     {func(b []byte) []byte { b[24]++; return b }, "sectors of 513 bytes"},
		"many entries":    {func(b []byte) []byte { b[20] = 1; return b }, "entries do not fit"},
		"one entry more":  {func(b []byte) []byte { b[16]++; return b }, "entry 8 of 8 is not there"},
		"an unknown flag": {func(b []byte) []byte { b[512+17] = 1; return b }, "flags 0x100 are not known"},
		"a far sector":    {func(b []byte) []byte { b[512+7] = 0xff; return b }, "cannot be on a disk"},
		"a long entry":    {func(b []byte) []byte { b[512+10] = 1; return b }, "end after the log"},
	} {
		b := tt.change(encoded(sample()))
		if _, err := replay.ReadLog(bytes.NewReader(b), int64(len(b))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add(encoded(sample()))
	f.Add([]byte{})

	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := replay.ReadLog(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}

		for _, e := range l.Entries {
			if e.Offset < 0 || e.Length < 0 || e.Flags&(replay.Discard|replay.Mark) == 0 && e.Data+e.Length > int64(len(b)) {
				t.Fatalf("entry %+v is not in a log of %d bytes", e, len(b))
			}
		}
	})
}
