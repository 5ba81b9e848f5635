// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ipFrame returns a frame of n bytes with a packet of a protocol.
func ipFrame(version, proto byte, n int) []byte {
	f := append(frame(host(2), host(1), ""), make([]byte, n-headerLen)...)
	p := f[headerLen:]

	switch version {
	case 4:
		p[0], p[9] = 0x45, proto
	case 6:
		binary.BigEndian.PutUint16(f[12:], 0x86dd)
		p[0], p[6] = 0x60, proto
	}

	return f
}

func TestBlocked(t *testing.T) {
	tagged := ipFrame(4, 17, 100)
	tagged = append(append(bytes.Clone(tagged[:12]), 0x81, 0, 0, 7), tagged[12:]...)

	other := ipFrame(4, 17, 100)
	binary.BigEndian.PutUint16(other[12:], 0x88b5) // for experiments

	tests := []struct {
		name  string
		in    Impairment
		frame []byte
		want  bool
	}{
		{"UDP", Impairment{Block: UDP}, ipFrame(4, 17, 100), true},
		{"UDP over IPv6", Impairment{Block: UDP}, ipFrame(6, 17, 100), true},
		{"UDP in a VLAN", Impairment{Block: UDP}, tagged, true},
		{"TCP", Impairment{Block: UDP}, ipFrame(4, 6, 100), false},
		{"TCP over IPv6", Impairment{Block: UDP}, ipFrame(6, 6, 100), false},
		{"no IP", Impairment{Block: UDP}, frame(host(2), host(1), "x"), false},
		{"another protocol that looks like UDP", Impairment{Block: UDP}, other, false},
		{"UDP that is not blocked", Impairment{Loss: 1e-12}, ipFrame(4, 17, 100), false},
		{"as long as may be", Impairment{DropOver: 1414}, ipFrame(4, 6, 1414), false},
		{"longer", Impairment{DropOver: 1414}, ipFrame(4, 6, 1415), true},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.sw.SetPath(Path{"a", "b"}, tt.in)
				b.ports["a"].Send(tt.frame)
				time.Sleep(time.Second)
				synctest.Wait()

				if got := len(b.received("b")) == 0; got != tt.want {
					t.Errorf("got blocked %v, want %v", got, tt.want)
				}

				if got, want := b.ports["b"].Stats().Blocked == 1, tt.want; got != want {
					t.Errorf("got counted %v, want %v", got, want)
				}

				if got := len(b.received("c")); got != 1 {
					t.Errorf("the good path carried %d frames, want 1", got)
				}
			})
		})
	}
}

func TestDuplicateAndCorrupt(t *testing.T) {
	const frames = 4000

	synctest.Test(t, func(t *testing.T) {
		sw := New(1)
		sent := ipFrame(4, 6, 200)

		var received, damaged int

		b := sw.Attach("b", func(f []byte) {
			received++

			flipped := 0
			for i := range f {
				flipped += bits.OnesCount8(f[i] ^ sent[i])
			}

			if flipped > 1 || !bytes.Equal(f[:headerLen], sent[:headerLen]) {
				t.Errorf("%d bits are flipped, want at most one, after the header", flipped)
			}

			damaged += flipped
		})
		defer b.Close()

		a := sw.Attach("a", func([]byte) {})
		defer a.Close()

		sw.SetLink("a", Link{Out: Impairment{Duplicate: 0.25}})
		sw.SetLink("b", Link{In: Impairment{Corrupt: 0.5}})

		for range frames {
			a.Send(sent)
			synctest.Wait()
		}

		got := b.Stats()
		if received != frames+int(got.Duplicated) || got.Duplicated < frames*20/100 || got.Duplicated > frames*30/100 {
			t.Errorf("got %d frames of %d, %d counted as duplicates, want a quarter more", received, frames, got.Duplicated)
		}

		if got.Corrupted < frames*45/100 || got.Corrupted > frames*55/100 || damaged < int(got.Corrupted) {
			t.Errorf("got %d damaged, %d counted, of %d, want half", damaged, got.Corrupted, frames)
		}
	})
}

func TestBandwidth(t *testing.T) {
	const size = 1250 // 10 ms of 1 Mbit/s

	tests := []struct {
		name   string
		frames int
		// most and last are how many frames arrive, and when the last one does.
		arrive int
		last   time.Duration
	}{
		{"a burst passes at once", 12, 12, 0},
		{"then it is as asked", 50, 50, (50*size - bucketSize) * 8 * time.Microsecond},
		// The queue holds the frames of 524 ms, and one more.
		{"the queue is bounded", 1000, 65, (65*size - bucketSize) * 8 * time.Microsecond},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.sw.SetLink("a", Link{Out: Impairment{Bandwidth: 1e6}})

				start := time.Now()
				last := start

				for i := range tt.frames {
					f := ipFrame(4, 6, size)
					copy(f[headerLen+4:], fmt.Sprintf("%06d", i))
					b.ports["a"].Send(f)

					if i%100 == 0 {
						synctest.Wait() // the receivers' queues are not tested here
					}
				}

				for range 2000 {
					before := len(b.received("b"))

					time.Sleep(time.Millisecond)
					synctest.Wait()

					if len(b.received("b")) > before {
						last = time.Now()
					}
				}

				got := b.received("b")
				if len(got) != tt.arrive {
					t.Errorf("got %d frames, want %d", len(got), tt.arrive)
				}

				if took := last.Sub(start); (took - tt.last).Abs() > 2*time.Millisecond {
					t.Errorf("the last came after %v, want %v", took, tt.last)
				}

				for i, f := range got {
					if want := fmt.Sprintf("%06d", i); f[len(f)-size+headerLen+4:][:6] != want {
						t.Fatalf("frame %d is %q, want %q: the order is lost", i, f[len(f)-size+headerLen+4:][:6], want)
					}
				}

				// A broadcast uses the sender's line once, not once for each receiver.
				if got := b.ports["c"].Stats(); got.Received != uint64(tt.arrive) || got.Dropped != uint64(tt.frames-tt.arrive) {
					t.Errorf("another receiver got %+v, want %d and the rest dropped", got, tt.arrive)
				}
			})
		})
	}
}

// TestBandwidthIsKept changes another fault while frames wait.
func TestBandwidthIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		slow := Impairment{Bandwidth: 1e6}
		b.sw.SetLink("a", Link{Out: slow})

		for range 20 {
			b.ports["a"].Send(ipFrame(4, 6, 1250))
		}

		b.sw.SetLink("c", Link{In: Impairment{Cut: true}})
		b.sw.SetLink("a", Link{Out: slow})
		b.ports["a"].Send(ipFrame(4, 6, 1250))
		time.Sleep(88 * time.Millisecond)
		synctest.Wait()

		if got, want := len(b.received("b")), 20; got != want {
			t.Errorf("got %d frames after 88ms, want %d: the frame sent last waits for the others", got, want)
		}
	})
}

// TestDelayedFramesDroppedAreCounted delays more frames to one time than the port's queue holds.
func TestDelayedFramesDroppedAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sw := New(1)
		hold := make(chan struct{})
		stuck := sw.Attach("stuck", func([]byte) { <-hold })

		defer stuck.Close()
		defer close(hold)

		a := sw.Attach("a", func([]byte) {})
		defer a.Close()

		a.Send(frame(broadcast, host(1), "in the machine's hands"))
		synctest.Wait()

		sw.SetLink("stuck", Link{In: Impairment{Delay: time.Millisecond}})

		for range queueLimit + 100 {
			a.Send(frame(broadcast, host(1), "x"))
		}

		time.Sleep(time.Second)
		synctest.Wait()

		if got, want := stuck.Stats().Dropped, uint64(100); got != want {
			t.Errorf("got %d dropped, want %d", got, want)
		}
	})
}

func TestNewImpairmentsValidate(t *testing.T) {
	tests := []struct {
		in   Impairment
		want string // the error
	}{
		{Impairment{Duplicate: 1, Corrupt: 0.5, Bandwidth: 1e6, DropOver: 1414, Block: UDP}, ""},
		{Impairment{Duplicate: 2}, "duplicate 2: want a probability from 0 to 1"},
		{Impairment{Corrupt: math.NaN()}, "corrupt NaN: want a probability from 0 to 1"},
		{Impairment{Bandwidth: 10}, "bandwidth 10 bit/s: want at least 1000, or 0 for no limit"},
		{Impairment{DropOver: -1}, "drop over -1 bytes: want at least 14, or 0 for no limit"},
		{Impairment{Block: "tcp"}, `block "tcp": only "udp" can be blocked`},
	}

	for _, tt := range tests {
		got := ""
		if err := tt.in.Validate(); err != nil {
			got = err.Error()
		}

		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.in, d)
		}
	}
}

func TestImpairmentString(t *testing.T) {
	tests := []struct {
		in   Impairment
		want string
	}{
		{Impairment{}, ""},
		{Impairment{Cut: true, Loss: 1}, "cut"},
		{Impairment{Delay: 20 * time.Millisecond, Loss: 0.05}, "delay 20ms±0s loss 5%"},
		{
			Impairment{Duplicate: 0.5, Corrupt: 0.001, Bandwidth: 1e6, DropOver: 1414, Block: UDP},
			"duplicate 50% corrupt 0.1% bandwidth 1000000 bit/s drop over 1414 bytes block udp",
		},
	}

	for _, tt := range tests {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// FuzzForward sends any frame through each impairment.
func FuzzForward(f *testing.F) {
	tagged := ipFrame(4, 17, 100)
	tagged = append(append(bytes.Clone(tagged[:12]), 0x81, 0, 0, 7), tagged[12:]...)

	for _, frame := range [][]byte{nil, ipFrame(4, 17, 100), ipFrame(6, 17, 100), tagged, tagged[:15], frame(broadcast, host(1), "")} {
		f.Add(frame)
	}

	f.Fuzz(func(t *testing.T, sent []byte) {
		sw := New(1)
		in, out := sw.plug("in"), sw.plug("out")
		defer in.Close()
		defer out.Close()

		for _, i := range []Impairment{{Block: UDP}, {Corrupt: 1}, {Duplicate: 1}, {Bandwidth: minBandwidth}} {
			sw.SetPath(Path{"in", "out"}, i)
			in.Send(sent)
		}

		out.out.mu.Lock()
		defer out.out.mu.Unlock()

		for _, f := range out.out.frames {
			if got := f.Bytes(); len(got) != len(sent) {
				t.Fatalf("% x became % x", sent, got)
			}
		}
	})
}
