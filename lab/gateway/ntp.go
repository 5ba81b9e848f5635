// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	ntpPort = 123
	// ntpLen is a packet without extensions (RFC 5905, 7.3).
	ntpLen    = 48
	ntpClient = 3
	ntpServer = 4
	// ntpUnsynchronized is the leap indicator of a clock that was never set, and ntpStratumMax the stratum of its
	// server.
	ntpUnsynchronized = 3
	ntpStratumMax     = 16
	// ntpEpoch is 1 January 1970 in seconds of NTP's era 0.
	ntpEpoch = 2208988800
)

func (g *Gateway) serveNTP(ctx context.Context) error {
	conns, err := g.listenPackets(ntpPort)
	if err != nil {
		return fmt.Errorf("start NTP: %w", err)
	}

	for _, conn := range conns {
		g.serveUntilClosed(ctx, "NTP", func() error { return g.answerNTPOn(conn) }, conn)
	}

	return nil
}

func (g *Gateway) answerNTPOn(conn net.PacketConn) error {
	buf := make([]byte, 1024)

	for {
		n, peer, err := conn.ReadFrom(buf)
		if err != nil {
			return err
		}

		received, request, behaviour := time.Now(), slices.Clone(buf[:n]), g.ntp.get()
		if behaviour.value.Silent {
			continue
		}

		g.run(func() {
			if !g.pause(behaviour.value.Delay) {
				return
			}

			clock := func(t time.Time) time.Time { return behaviour.value.clock(t, behaviour.from) }
			reply := answerNTP(request, behaviour.value, clock(received), func() time.Time { return clock(time.Now()) })

			if reply == nil {
				return
			}

			if _, err := conn.WriteTo(reply, peer); err != nil {
				g.cfg.Log.Warn("NTP reply not sent", "to", peer, "error", err)
			}
		})
	}
}

// clock returns what a server's clock shows at a time t, if it has this behaviour since from.
func (b NTPBehaviour) clock(t, from time.Time) time.Time {
	return t.Add(b.Offset + time.Duration(b.Drift*float64(t.Sub(from))))
}

// answerNTP returns the answer to a client's packet, or nil for another packet.
func answerNTP(request []byte, b NTPBehaviour, received time.Time, now func() time.Time) []byte {
	if len(request) < ntpLen {
		return nil
	}

	version, mode := request[0]>>3&7, request[0]&7
	if version < 1 || version > 4 || mode != ntpClient {
		return nil
	}

	reply := make([]byte, ntpLen)
	reply[0] = b.Leap<<6 | version<<3 | ntpServer
	reply[1] = max(b.Stratum, 1)                      // 1: this computer's clock is the lab's reference
	reply[2] = request[2]                             // poll interval
	reply[3] = 0xec                                   // precision: 2^-20 s
	binary.BigEndian.PutUint32(reply[8:], 0x00000010) // root dispersion: 0.2 ms

	switch {
	case b.Kiss != "":
		reply[0] |= ntpUnsynchronized << 6
		reply[1] = 0
		copy(reply[12:16], b.Kiss)
	case reply[1] == 1:
		copy(reply[12:16], "LOCL")
	case reply[1] < ntpStratumMax:
		copy(reply[12:16], []byte{192, 0, 2, 123}) // the server's own server, an address for documentation
	}

	if reply[1] < ntpStratumMax {
		binary.BigEndian.PutUint64(reply[16:], ntpTime(received)) // when the clock was last set
	}

	copy(reply[24:32], request[40:48]) // origin: the client's transmit time
	binary.BigEndian.PutUint64(reply[32:], ntpTime(received))
	binary.BigEndian.PutUint64(reply[40:], ntpTime(now()))

	return reply
}

// ntpTime returns a time as seconds and their fraction, 32 bits each.
func ntpTime(t time.Time) uint64 {
	seconds := uint64(t.Unix()) + ntpEpoch
	fraction := uint64(t.Nanosecond()) << 32 / uint64(time.Second)

	return seconds<<32 | fraction
}
