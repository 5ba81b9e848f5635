// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryOfWaitingFrames checks that the frames for a machine that reads none are bounded in bytes, not only in
// number.
func TestMemoryOfWaitingFrames(t *testing.T) {
	for _, tt := range []struct {
		name  string
		link  Link
		bound int
	}{
		{"queued", Link{}, queueBytes},
		{"delayed", Link{In: Impairment{Delay: time.Minute}}, delayBytes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sw := New(1)
				sw.SetLink("stuck", tt.link)

				hold := make(chan struct{})
				stuck := sw.Attach("stuck", func([]byte) { <-hold })

				defer stuck.Close()
				defer close(hold)

				a := sw.Attach("a", func([]byte) {})
				defer a.Close()

				if tt.link == (Link{}) {
					a.Send(frame(broadcast, host(1), "in the machine's hands"))
					synctest.Wait()
				}

				long := append(frame(broadcast, host(1), ""), make([]byte, MaxFrame-headerLen)...)
				fit := tt.bound / (MaxFrame + prefixLen)

				for range fit + 10 {
					a.Send(long)
				}

				if got, want := stuck.Stats().Dropped, uint64(10); got != want {
					t.Errorf("got %d of %d long frames dropped, want %d", got, fit+10, want)
				}
			})
		})
	}
}

// TestMemoryOfCapturedFrames checks the same for a capture that is not written.
func TestMemoryOfCapturedFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sw := New(1)
		a := sw.Attach("a", func([]byte) {})

		defer a.Close()

		ctx, stop := context.WithCancel(t.Context())
		w := &stuckWriter{hold: make(chan struct{})}
		done := make(chan CaptureCount, 1)

		go func() {
			count, _ := sw.Capture(ctx, Capture{}, w) // w cannot fail
			done <- count
		}()
		synctest.Wait()

		a.Send(frame(host(2), host(1), "in the writer's hands"))
		synctest.Wait()

		const fit = captureBytes / (MaxFrame + prefixLen)

		long := append(frame(host(2), host(1), ""), make([]byte, MaxFrame-headerLen)...)
		for range fit + 10 {
			a.Send(long)
		}

		stop()
		close(w.hold)

		if got, want := <-done, (CaptureCount{Frames: 1 + fit, Dropped: 10}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// TestShortFramesTakeLittleMemory sends short frames after a long one.
func TestShortFramesTakeLittleMemory(t *testing.T) {
	for range 100 {
		newFrame(MaxFrame).release()

		if f := newFrame(60); cap(f.wire) > usualCap {
			t.Fatalf("a frame of 60 bytes takes %d", cap(f.wire))
		}
	}
}

// floodingWriter sends a frame with each write, so that a capture always has one to write.
type floodingWriter struct{ from *Port }

func (w floodingWriter) Write(b []byte) (int, error) {
	w.from.Send(frame(host(2), host(1), "x"))

	return len(b), nil
}

func TestCaptureOfAFloodEnds(t *testing.T) {
	sw := New(1)
	a := sw.Attach("a", func([]byte) {})

	defer a.Close()

	ctx, stop := context.WithCancel(t.Context())
	stop()

	done := make(chan struct{})

	go func() {
		defer close(done)

		_, _ = sw.Capture(ctx, Capture{}, floodingWriter{a}) // it cannot fail
	}()

	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the capture continues after its end")
	}
}
