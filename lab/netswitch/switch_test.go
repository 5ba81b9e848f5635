// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var broadcast = address{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func host(n byte) address { return address{2, 0, 0, 0, 0, n} }

func frame(to, from address, payload string) []byte {
	b := append(to[:], from[:]...)
	b = append(b, 0x08, 0x00)

	return append(b, payload...)
}

// bench is a switch with ports a, b, c and the frames that each received, as "elapsed payload".
type bench struct {
	sw    *Switch
	ports map[string]*Port

	mu  sync.Mutex // the ports receive at the same time
	got map[string][]string
}

func (b *bench) received(name string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.got[name]
}

func newBench(t *testing.T) *bench {
	b := &bench{sw: New(1), ports: map[string]*Port{}, got: map[string][]string{}}
	start := time.Now()

	for _, name := range []string{"a", "b", "c"} {
		b.ports[name] = b.sw.Attach(name, func(f []byte) {
			b.mu.Lock()
			defer b.mu.Unlock()

			b.got[name] = append(b.got[name], fmt.Sprintf("%v %s", time.Since(start), f[14:]))
		})
		t.Cleanup(b.ports[name].Close)
	}

	return b
}

func TestForward(t *testing.T) {
	type sent struct {
		port  string
		frame []byte
	}

	tests := []struct {
		name string
		sent []sent
		want map[string][]string
	}{
		{
			name: "an unknown address is flooded to all others",
			sent: []sent{{"a", frame(host(2), host(1), "x")}},
			want: map[string][]string{"b": {"0s x"}, "c": {"0s x"}},
		},
		{
			name: "a learned address gets it alone",
			sent: []sent{{"b", frame(broadcast, host(2), "hello")}, {"a", frame(host(2), host(1), "x")}},
			want: map[string][]string{"a": {"0s hello"}, "b": {"0s x"}, "c": {"0s hello"}},
		},
		{
			name: "an address that moved is found at its new port",
			sent: []sent{
				{"b", frame(broadcast, host(2), "1")},
				{"c", frame(broadcast, host(2), "2")},
				{"a", frame(host(2), host(1), "x")},
			},
			want: map[string][]string{"a": {"0s 1", "0s 2"}, "b": {"0s 2"}, "c": {"0s 1", "0s x"}},
		},
		{
			name: "nothing goes back out of its own port",
			sent: []sent{{"a", frame(broadcast, host(1), "1")}, {"a", frame(host(1), host(9), "x")}},
			want: map[string][]string{"b": {"0s 1"}, "c": {"0s 1"}},
		},
		{
			name: "a frame from a group address or without a header is dropped",
			sent: []sent{{"a", frame(host(2), broadcast, "x")}, {"a", []byte("short")}},
			want: map[string][]string{},
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				for _, s := range tt.sent {
					b.ports[s.port].Send(s.frame)
					synctest.Wait()
				}

				if d := cmp.Diff(tt.want, b.got); d != "" {
					t.Errorf("received (-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestFaults(t *testing.T) {
	const ms = time.Millisecond

	tests := []struct {
		name string
		set  func(*Switch)
		want map[string][]string
	}{
		{"none", func(*Switch) {}, map[string][]string{"b": {"0s x"}, "c": {"0s x"}}},
		{
			"the sender's link is cut outward",
			func(s *Switch) { s.SetLink("a", Link{Out: Impairment{Cut: true}}) },
			map[string][]string{},
		},
		{
			"one receiver's link is cut",
			func(s *Switch) { s.SetLink("b", Link{In: Impairment{Cut: true}}) },
			map[string][]string{"c": {"0s x"}},
		},
		{
			"a cut the other way does not matter",
			func(s *Switch) {
				s.SetLink("a", Link{In: Impairment{Cut: true}})
				s.SetPath(Path{"b", "a"}, Impairment{Cut: true})
			},
			map[string][]string{"b": {"0s x"}, "c": {"0s x"}},
		},
		{
			"one path is cut",
			func(s *Switch) { s.SetPath(Path{"a", "c"}, Impairment{Cut: true}) },
			map[string][]string{"b": {"0s x"}},
		},
		{
			"delays along the way add up",
			func(s *Switch) {
				s.SetLink("a", Link{Out: Impairment{Delay: 10 * ms}})
				s.SetPath(Path{"a", "b"}, Impairment{Delay: 20 * ms})
				s.SetLink("b", Link{In: Impairment{Delay: 5 * ms}})
			},
			map[string][]string{"b": {"35ms x"}, "c": {"10ms x"}},
		},
		{
			"all is lost",
			func(s *Switch) { s.SetLink("a", Link{Out: Impairment{Loss: 1}}) },
			map[string][]string{},
		},
		{
			"healed",
			func(s *Switch) {
				s.SetLink("a", Link{Out: Impairment{Loss: 1}})
				s.SetPath(Path{"a", "b"}, Impairment{Cut: true})
				s.SetLink("a", Link{})
				s.Heal()
			},
			map[string][]string{"b": {"0s x"}, "c": {"0s x"}},
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				tt.set(b.sw)
				b.ports["a"].Send(frame(broadcast, host(1), "x"))
				time.Sleep(time.Second)
				synctest.Wait()

				if d := cmp.Diff(tt.want, b.got); d != "" {
					t.Errorf("received (-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestDelayKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.sw.SetLink("b", Link{In: Impairment{Delay: 50 * time.Millisecond}})

		var want []string

		for i := range 100 {
			b.ports["a"].Send(frame(host(2), host(1), fmt.Sprint(i)))
			want = append(want, fmt.Sprintf("50ms %d", i))
		}

		time.Sleep(time.Second)
		synctest.Wait()

		if d := cmp.Diff(want, b.received("b")); d != "" {
			t.Errorf("received (-want +got):\n%s", d)
		}
	})
}

func TestLossAndJitterAreAsAsked(t *testing.T) {
	const frames = 4000

	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.sw.SetPath(Path{"a", "b"}, Impairment{Loss: 0.25, Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond})

		var first, last time.Duration

		for range frames {
			before := len(b.received("b"))
			start := time.Now()
			b.ports["a"].Send(frame(host(2), host(1), "x"))

			for i := range 40 {
				time.Sleep(time.Millisecond)
				synctest.Wait()

				if len(b.received("b")) > before {
					took := time.Since(start)
					if first == 0 || took < first {
						first = took
					}

					last = max(last, took)

					time.Sleep(time.Duration(40-i) * time.Millisecond)

					break
				}
			}
		}

		if got := len(b.received("b")); got < frames*70/100 || got > frames*80/100 {
			t.Errorf("got %d of %d frames through a loss of 0.25", got, frames)
		}

		if first < 15*time.Millisecond || first > 17*time.Millisecond || last < 24*time.Millisecond || last > 26*time.Millisecond {
			t.Errorf("got delays from %v to %v, want 15ms to 25ms", first, last)
		}

		if got := b.ports["b"].Stats(); got.Lost+got.Received != frames {
			t.Errorf("got %d lost and %d received, want %d together", got.Lost, got.Received, frames)
		}
	})
}

func TestImpairmentValidate(t *testing.T) {
	tests := []struct {
		in Impairment
		ok bool
	}{
		{Impairment{}, true},
		{Impairment{Loss: 1, Delay: time.Second, Jitter: 2 * time.Second}, true},
		{Impairment{Loss: 1.01}, false},
		{Impairment{Loss: -0.1}, false},
		{Impairment{Delay: -1}, false},
		{Impairment{Jitter: -1}, false},
	}

	for _, tt := range tests {
		if err := tt.in.Validate(); (err == nil) != tt.ok {
			t.Errorf("%+v: got %v, want valid %v", tt.in, err, tt.ok)
		}
	}
}

// TestStoppedMachineHoldsUpNobody fills the queue of a port that reads nothing.
func TestStoppedMachineHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		hold := make(chan struct{})
		stuck := b.sw.Attach("stuck", func([]byte) { <-hold })

		t.Cleanup(func() { close(hold); stuck.Close() })

		for range queueLimit + 100 {
			b.ports["a"].Send(frame(broadcast, host(1), "x"))
			synctest.Wait()
		}

		if got, want := len(b.received("b")), queueLimit+100; got != want {
			t.Errorf("others received %d frames, want %d", got, want)
		}

		// The receiver has one frame.
		if got, want := stuck.Stats().Dropped, uint64(99); got != want {
			t.Errorf("got %d dropped, want %d", got, want)
		}
	})
}

func TestAddressesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)

		for i := range addressLimit + 10 {
			a := address{2}
			binary.BigEndian.PutUint32(a[2:], uint32(i))
			b.ports["a"].Send(frame(a, a, ""))
		}

		if got := len(b.sw.table.Load().learned); got != addressLimit {
			t.Errorf("got %d addresses learned, want %d", got, addressLimit)
		}

		b.ports["a"].Close()

		if got := len(b.sw.table.Load().learned); got != 0 {
			t.Errorf("got %d addresses after the port was closed, want 0", got)
		}
	})
}

func TestMachineReturns(t *testing.T) {
	sw := New(1)
	received := make(chan string, 16)
	gateway := sw.Attach("gateway", func(f []byte) { received <- string(f[14:]) })

	defer gateway.Close()

	for _, payload := range []string{"first boot", "second boot"} {
		machine, port := net.Pipe()
		done := make(chan error, 1)

		go func() { done <- sw.ServeStream(t.Context(), "node", port) }()

		if _, err := machine.Write(prefixed(frame(broadcast, host(1), payload))); err != nil {
			t.Fatal(err)
		}

		if got := <-received; got != payload {
			t.Errorf("got %q, want %q", got, payload)
		}

		gateway.Send(frame(host(1), host(9), "answer to "+payload))

		want := prefixed(frame(host(1), host(9), "answer to "+payload))
		got := make([]byte, len(want))

		if _, err := io.ReadFull(machine, got); err != nil || string(got) != string(want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}

		_ = machine.Close()

		if err := <-done; err != nil {
			t.Errorf("a machine switched off: got error %v", err)
		}

		if got := len(sw.Stats()); got != 1 {
			t.Errorf("got %d ports after the machine has ended, want 1", got)
		}
	}
}

func TestStreamOutOfStepEnds(t *testing.T) {
	machine, port := net.Pipe()

	go func() { _, _ = machine.Write([]byte{0xff, 0, 0, 0}) }()

	err := New(1).ServeStream(t.Context(), "node", port)
	if want := "switch port node: frame of 4278190080 bytes announced"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
