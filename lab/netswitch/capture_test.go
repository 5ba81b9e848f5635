// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"
)

// readCapture reads a file with another implementation, as "port payload".
func readCapture(t *testing.T, file []byte) []string {
	t.Helper()

	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}

	var got []string

	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return got
		}

		if err != nil {
			t.Fatal(err)
		}

		port, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}

		got = append(got, fmt.Sprintf("%s %s/%d", port.Name, data[headerLen:], info.Length))
	}
}

func TestCapture(t *testing.T) {
	tests := []struct {
		name    string
		capture Capture
		want    []string
	}{
		{"everything, once", Capture{}, []string{"a one/17", "a two/17", "b three/19"}},
		{"as one machine sees it", Capture{Ports: []string{"b"}}, []string{"b two/17", "b three/19"}},
		{"as two see it", Capture{Ports: []string{"a", "b"}}, []string{"a one/17", "a two/17", "b two/17", "b three/19", "a three/19"}},
		{"the beginning", Capture{SnapLen: 15}, []string{"a o/17", "a t/17", "b t/19"}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				ctx, stop := context.WithCancel(t.Context())

				var file bytes.Buffer

				done := make(chan error, 1)

				go func() {
					count, err := b.sw.Capture(ctx, tt.capture, &file)
					if count != (CaptureCount{Frames: uint64(len(tt.want))}) {
						t.Errorf("got %+v, want %d frames", count, len(tt.want))
					}

					done <- err
				}()
				synctest.Wait()

				// The first frame is lost: only its sender's port has it.
				b.sw.SetLink("a", Link{Out: Impairment{Loss: 1}})

				for _, send := range []func(){
					func() { b.ports["a"].Send(frame(host(2), host(1), "one")) },
					func() { b.sw.Heal(); b.ports["a"].Send(frame(host(2), host(1), "two")) },
					func() { b.ports["b"].Send(frame(host(1), host(2), "three")) },
				} {
					send()
					synctest.Wait()
				}

				stop()

				if err := <-done; err != nil {
					t.Error(err)
				}

				if d := cmp.Diff(tt.want, readCapture(t, file.Bytes())); d != "" {
					t.Errorf("captured (-want +got):\n%s", d)
				}

				if b.sw.captures.Load() != nil {
					t.Error("the capture continues after its end")
				}
			})
		})
	}
}

// stuckWriter accepts the beginning of a file, and then blocks until it is released.
type stuckWriter struct {
	writes int
	hold   chan struct{}
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	if w.writes++; w.writes > 1 {
		<-w.hold
	}

	return len(b), nil
}

func TestSlowCaptureHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const more = 500

		b := newBench(t)
		ctx, stop := context.WithCancel(t.Context())
		w := &stuckWriter{hold: make(chan struct{})}
		done := make(chan CaptureCount, 1)

		go func() {
			count, _ := b.sw.Capture(ctx, Capture{}, w) // w cannot fail
			done <- count
		}()
		synctest.Wait()

		send := func() {
			b.ports["a"].Send(frame(host(2), host(1), "x"))
			synctest.Wait()
		}

		send() // the writer has it

		for range captureLimit + more {
			send()
		}

		if got, want := len(b.received("b")), 1+captureLimit+more; got != want {
			t.Errorf("the receiver got %d frames, want %d", got, want)
		}

		stop()
		close(w.hold)

		if got, want := <-done, (CaptureCount{Frames: 1 + captureLimit, Dropped: more}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestCaptureSaysWhyItEnds(t *testing.T) {
	_, err := New(1).Capture(t.Context(), Capture{}, fullDisk{})
	if want := "write capture: no space left on device"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
