// SPDX-License-Identifier: Apache-2.0

package logring_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/service/logring"
)

func read(t *testing.T, l *logring.Logs, tail int) string {
	t.Helper()

	var b strings.Builder

	err := l.Read(t.Context(), "etcd", tail, false, func(p []byte) error {
		b.Write(p)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return b.String()
}

func TestRead(t *testing.T) {
	l := logring.New(1000)
	for i := range 3 {
		l.Append("etcd", fmt.Appendf(nil, "line %d", i))
	}

	for _, tt := range []struct {
		tail int
		want string
	}{
		{-1, "line 0\nline 1\nline 2\n"},
		{0, ""},
		{1, "line 2\n"},
		{10, "line 0\nline 1\nline 2\n"},
	} {
		if got := read(t, l, tt.tail); got != tt.want {
			t.Errorf("tail %d: got %q, want %q", tt.tail, got, tt.want)
		}
	}
}

func TestBounded(t *testing.T) {
	l := logring.New(100)
	for i := range 1000 {
		l.Append("etcd", fmt.Appendf(nil, "line %04d", i))
	}

	got := read(t, l, -1)
	if len(got) > 100 || !strings.HasSuffix(got, "line 0999\n") {
		t.Errorf("got %d bytes, ending %q", len(got), got[max(0, len(got)-20):])
	}
}

func TestFollowSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logring.New(5 * (len("line 0000") + 32))
		l.Append("etcd", []byte("first"))

		ctx, cancel := context.WithCancel(t.Context())

		var b strings.Builder

		gate := make(chan struct{})

		go l.Read(ctx, "etcd", -1, true, func(p []byte) error {
			b.Write(p)
			<-gate

			return nil
		})

		synctest.Wait()

		for i := range 20 {
			l.Append("etcd", fmt.Appendf(nil, "line %04d", i))
		}

		close(gate)
		synctest.Wait()
		cancel()
		synctest.Wait()

		want := "first\n… 15 lines were overwritten before they could be read\nline 0015\nline 0016\nline 0017\nline 0018\nline 0019\n"
		if b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	})
}

func TestMissing(t *testing.T) {
	if err := logring.New(10).Read(t.Context(), "unknown", -1, false, nil); err == nil {
		t.Error("reading a missing log: got no error")
	}
}

// TestOneChunkAtATime reads a full log: a reader gets small chunks, and reads to the end even if new lines arrive.
func TestOneChunkAtATime(t *testing.T) {
	l := logring.New(logring.DefaultBytes)
	for i := range 100_000 {
		l.Append("etcd", fmt.Appendf(nil, "%06d", i))
	}

	calls := 0

	err := l.Read(t.Context(), "etcd", -1, false, func(p []byte) error {
		if calls++; len(p) > 64<<10 {
			t.Errorf("got a chunk of %d bytes", len(p))
		}

		for range 100 {
			l.Append("etcd", []byte("more"))
		}

		return nil
	})
	if err != nil || calls < 3 || calls > 100 {
		t.Errorf("got %d chunks, %v", calls, err)
	}
}

func TestTap(t *testing.T) {
	l := logring.New(100)

	var got []string

	l.Tap = func(id string, line []byte) { got = append(got, id+": "+string(line)) }
	l.Append("etcd", []byte("one"))
	l.Append("kubelet", []byte("two"))

	if want := "etcd: one, kubelet: two"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}
