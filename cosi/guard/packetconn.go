// SPDX-License-Identifier: Apache-2.0

package guard

import "net"

// PacketConn guards a library that reads and parses packets on its own goroutines: a packet is dropped if reading or parsing
// it panics. parse is the library's function; each packet is parsed twice.
func PacketConn(conn net.PacketConn, parse func(packet []byte)) net.PacketConn {
	return &packetConn{PacketConn: conn, parse: parse}
}

type packetConn struct {
	net.PacketConn

	parse func([]byte)
}

// ReadFrom implements net.PacketConn.
func (c *packetConn) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		var (
			n    int
			from net.Addr
			err  error
		)

		panicked := Call(func() error {
			if n, from, err = c.PacketConn.ReadFrom(b); err == nil {
				c.parse(b[:n])
			}

			return nil
		})
		if panicked == nil {
			return n, from, err
		}
	}
}
