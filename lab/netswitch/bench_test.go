// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkStream sends full frames from one Unix socket through the switch to another, as between two machines. The
// sender waits for space in the receiver's queue, as with TCP.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{64, 1514} {
		for _, fault := range []Link{{}, {In: Impairment{Delay: time.Millisecond}}} {
			b.Run(fmt.Sprintf("bytes=%d/delay=%v", size, fault.In.Delay), func(b *testing.B) {
				sw := New(1)
				sw.SetLink("to", fault)

				from, to := plugged(b, sw, "from"), plugged(b, sw, "to")

				// The switch learns the receiver's port, so that frames are not flooded.
				if _, err := to.Write(prefixed(frame(host(1), host(2), ""))); err != nil {
					b.Fatal(err)
				}

				if _, err := io.CopyN(io.Discard, from, prefixLen+headerLen); err != nil {
					b.Fatal(err)
				}

				const burst = queueLimit / 4

				one := prefixed(append(frame(host(2), host(1), ""), make([]byte, size-headerLen)...))

				var many []byte
				for range burst {
					many = append(many, one...)
				}

				b.SetBytes(int64(size))
				b.ReportAllocs()

				window := make(chan struct{}, 3) // bursts in transit
				go func() {
					for left := b.N; left > 0; left -= burst {
						window <- struct{}{}

						if _, err := from.Write(many[:min(left, burst)*len(one)]); err != nil {
							return // the benchmark has failed
						}
					}
				}()

				for left := b.N; left > 0; left -= burst {
					if _, err := io.CopyN(io.Discard, to, int64(min(left, burst)*len(one))); err != nil {
						b.Fatal(err)
					}

					<-window
				}
			})
		}
	}
}

// plugged returns the machine's end of a stream on the switch.
func plugged(b testing.TB, sw *Switch, name string) net.Conn {
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()

	machine, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}

	conn, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}

	ports := len(sw.table.Load().ports)

	go func() { _ = sw.ServeStream(b.Context(), name, conn) }()

	for len(sw.table.Load().ports) == ports {
		time.Sleep(time.Millisecond)
	}

	b.Cleanup(func() { _ = machine.Close() })

	return machine
}
