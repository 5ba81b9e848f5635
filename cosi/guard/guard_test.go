// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/cosi/guard"
)

func TestCall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		f     func() error
		is    error  // errors.Is
		begin string // the beginning of the text
	}{
		{"no error", func() error { return nil }, nil, ""},
		{"an error", func() error { return io.EOF }, io.EOF, "EOF"},
		{"a panic", func() error { panic("boom") }, nil, "panic: boom\ngoroutine "},
		{"a panic with an error", func() error { panic(io.ErrShortWrite) }, io.ErrShortWrite, "panic: short write\n"},
		{"a fault", func() error { var p *int; *p = 1; return nil }, nil, "panic: runtime error: invalid memory address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for by, err := range map[string]error{"Call": guard.Call(tt.f), "Go": <-guard.Go(tt.f), "Group": group(tt.f)} {
				if (err == nil) != (tt.begin == "") || err != nil && !strings.HasPrefix(err.Error(), tt.begin) {
					t.Errorf("%s: got %v, want %q", by, err, tt.begin)
				}

				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("%s: got %v, want an error that is %v", by, err, tt.is)
				}

				var p *guard.Panic
				if errors.As(err, &p) && !bytes.Contains(p.Stack, []byte("guard_test.go")) {
					t.Errorf("%s: the stack does not name the place of the panic:\n%s", by, p.Stack)
				}
			}
		})
	}
}

func group(f func() error) error {
	var g guard.Group

	for range 3 {
		g.Go(f)
	}

	return g.Wait()
}

// TestGoIsClosed: the channel is closed after the error.
func TestGoIsClosed(t *testing.T) {
	ended := guard.Go(func() error { return io.EOF })
	<-ended

	if err, open := <-ended; open || err != nil {
		t.Errorf("got %v, %v, want a closed channel", err, open)
	}
}

// TestGoThen: who is told to look finds the result.
func TestGoThen(t *testing.T) {
	told := make(chan struct{})
	ended := guard.GoThen(func() error { panic("boom") }, func() { close(told) })

	<-told

	select {
	case err := <-ended:
		if _, ok := errors.AsType[*guard.Panic](err); !ok {
			t.Errorf("got %v, want the panic", err)
		}
	default:
		t.Error("there is no result yet")
	}
}

func TestDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		guard.Detach(slog.New(slog.NewTextHandler(&out, nil)), "listener", func() { panic("boom") })
		synctest.Wait()

		if got := out.String(); !strings.Contains(got, "goroutine=listener") || !strings.Contains(got, "panic: boom") {
			t.Errorf("got %q, want the name and the panic", got)
		}
	})
}
