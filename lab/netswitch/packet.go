// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"context"
	"errors"
	"io"
	"syscall"
)

// ServePackets connects a device that carries one frame with each read and write, such as a tap device, to the switch
// under a name, until it ends, which is not an error, or ctx is done.
func (s *Switch) ServePackets(ctx context.Context, name string, conn io.ReadWriteCloser) error {
	return s.serve(ctx, name, conn, packetReader(conn), packetWriter(conn))
}

func packetReader(r io.Reader) func(*Port) error {
	return func(p *Port) error {
		// Send copies the frame, so that queued frames have no unused memory.
		buf := make([]byte, MaxFrame)

		for {
			n, err := r.Read(buf)
			if err != nil {
				return err
			}

			p.Send(buf[:n])
		}
	}
}

func packetWriter(w io.Writer) func([]*Frame) error {
	return func(frames []*Frame) error {
		for _, f := range frames {
			// A tap device that is down, or has a smaller MTU, refuses frames: they are lost as on a real cable.
			if _, err := w.Write(f.Bytes()); err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.EINVAL) {
				return err
			}
		}

		return nil
	}
}
