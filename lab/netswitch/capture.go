// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/sys/pcap"
)

const (
	// captureLimit bounds the frames that wait to be written.
	captureLimit = 8192
	// captureBytes bounds the memory of the frames that wait.
	captureBytes = 32 << 20
	// captureFlush is how many bytes are written at once.
	captureFlush = 64 << 10
)

// Capture describes what to capture.
type Capture struct {
	// Ports are the names of the captured ports. Frames from a port are captured before faults, frames to it after
	// them. Without ports, each frame is captured once, when it enters the switch.
	Ports []string
	// SnapLen is how many bytes are kept of a frame; zero keeps all.
	SnapLen int
}

// CaptureCount is the size of a capture.
type CaptureCount struct {
	Frames uint64 `json:"frames"`
	// Dropped frames came faster than they could be written.
	Dropped uint64 `json:"dropped"`
}

// captures are the running captures.
type captures struct{ running []*capture }

type capture struct {
	Capture
	queue   chan captured
	waiting atomic.Int64 // bytes in queue
	dropped atomic.Uint64
}

// captured is a frame, with a reference to it.
type captured struct {
	port      string
	direction pcap.Direction
	at        time.Time
	frame     *Frame
}

func (c *captures) sent(p *Port, f *Frame) {
	for _, one := range c.running {
		if len(one.Ports) == 0 || slices.Contains(one.Ports, p.name) {
			one.add(captured{p.name, pcap.Inbound, time.Now(), f})
		}
	}
}

func (c *captures) received(p *Port, frames []*Frame) {
	for _, one := range c.running {
		if !slices.Contains(one.Ports, p.name) {
			continue
		}

		for now, i := time.Now(), 0; i < len(frames); i++ {
			one.add(captured{p.name, pcap.Outbound, now, frames[i]})
		}
	}
}

// add never waits, so that the switch is not delayed.
func (c *capture) add(f captured) {
	f.frame.retain()

	size := int64(len(f.frame.wire))
	if c.waiting.Add(size) <= captureBytes {
		select {
		case c.queue <- f:
			return
		default:
		}
	}

	c.waiting.Add(-size)
	f.frame.release()
	c.dropped.Add(1)
}

// Capture writes frames to w, as a pcapng file with an interface for each port, until ctx is done, which is not an
// error, or w fails. Frames into the switch are inbound. A slow w drops frames from the capture, never from the switch.
func (s *Switch) Capture(ctx context.Context, c Capture, w io.Writer) (CaptureCount, error) {
	one := &capture{Capture: c, queue: make(chan captured, captureLimit)}

	s.changeCaptures(func(running []*capture) []*capture { return append(running, one) })

	end := sync.OnceFunc(func() {
		s.changeCaptures(func(running []*capture) []*capture {
			return slices.DeleteFunc(running, func(r *capture) bool { return r == one })
		})
	})

	frames, err := one.write(ctx, w, end)

	end()

	if err != nil {
		err = fmt.Errorf("write capture: %w", err)
	}

	// A frame that is added at this moment stays in the queue, for the garbage collector.
	return CaptureCount{Frames: frames, Dropped: one.dropped.Load()}, err
}

func (s *Switch) changeCaptures(edit func([]*capture) []*capture) {
	s.mu.Lock()
	defer s.mu.Unlock()

	next := &captures{}
	if old := s.captures.Load(); old != nil {
		next.running = slices.Clone(old.running)
	}

	if next.running = edit(next.running); len(next.running) == 0 {
		next = nil
	}

	s.captures.Store(next)
}

// write writes the queued frames. When ctx is done it calls end, after which no more frames are added, and writes the
// rest of the queue.
func (c *capture) write(ctx context.Context, w io.Writer, end func()) (frames uint64, err error) {
	numbers := map[string]int{}
	out := pcap.NgHeader() // at once, so that the reader sees that the capture runs

	for {
		if _, err := w.Write(out); err != nil {
			return frames, err
		}

		out = out[:0]

		// Checked first: the queue is never empty while frames come faster than they are written.
		if ctx.Err() != nil {
			end()
		}

		var f captured

		select {
		case f = <-c.queue:
		case <-ctx.Done():
			end()

			select {
			case f = <-c.queue:
			default:
				return frames, nil
			}
		}

		for more := true; more; {
			out = c.append(out, f, numbers)
			frames++

			if more = len(out) < captureFlush; more {
				select {
				case f = <-c.queue:
				default:
					more = false
				}
			}
		}
	}
}

// append adds a frame to the file, preceded by its port if it is the port's first.
func (c *capture) append(file []byte, f captured, numbers map[string]int) []byte {
	number, known := numbers[f.port]
	if !known {
		number = len(numbers)
		numbers[f.port] = number
		file = pcap.AppendNgInterface(file, f.port, pcap.Ethernet, uint32(c.SnapLen))
	}

	data := f.frame.Bytes()
	length := len(data)

	if c.SnapLen > 0 {
		data = data[:min(length, c.SnapLen)]
	}

	file = pcap.AppendNg(file, number, f.at, f.direction, data, length)
	c.waiting.Add(-int64(len(f.frame.wire)))
	f.frame.release()

	return file
}
