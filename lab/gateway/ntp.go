// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

const (
	ntpPort = 123
	// ntpLen is a packet without extensions (RFC 5905, 7.3).
	ntpLen    = 48
	ntpClient = 3
	ntpServer = 4
	// ntpEpoch is 1 January 1970 in seconds of NTP's era 0.
	ntpEpoch = 2208988800
)

func (g *Gateway) serveNTP(ctx context.Context) error {
	local := endpoint(g.cfg.Addr, ntpPort)

	conn, err := gonet.DialUDP(g.stack, &local, nil, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("start NTP: %w", err)
	}

	context.AfterFunc(ctx, func() { _ = conn.Close() })
	g.run(func() {
		buf := make([]byte, 1024)

		for {
			n, peer, err := conn.ReadFrom(buf)
			if err != nil {
				if ctx.Err() == nil {
					g.cfg.Log.Error("NTP stopped", "error", err)
				}

				return
			}

			received := time.Now()

			reply := answerNTP(buf[:n], received, time.Now)
			if reply == nil {
				continue
			}

			if _, err := conn.WriteTo(reply, peer); err != nil {
				g.cfg.Log.Warn("NTP reply not sent", "to", peer, "error", err)
			}
		}
	})

	return nil
}

// answerNTP returns the answer to a client's packet, or nil when it is none.
func answerNTP(request []byte, received time.Time, now func() time.Time) []byte {
	if len(request) < ntpLen {
		return nil
	}

	version, mode := request[0]>>3&7, request[0]&7
	if version < 1 || version > 4 || mode != ntpClient {
		return nil
	}

	reply := make([]byte, ntpLen)
	reply[0] = version<<3 | ntpServer
	reply[1] = 1                                      // stratum: this computer's clock is the lab's reference
	reply[2] = request[2]                             // poll interval
	reply[3] = 0xec                                   // precision: 2^-20 s
	binary.BigEndian.PutUint32(reply[8:], 0x00000010) // root dispersion: 0.2 ms
	copy(reply[12:], "LOCL")
	binary.BigEndian.PutUint64(reply[16:], ntpTime(received)) // the clock was last set
	copy(reply[24:32], request[40:48])                        // origin: the client's transmit time
	binary.BigEndian.PutUint64(reply[32:], ntpTime(received))
	binary.BigEndian.PutUint64(reply[40:], ntpTime(now()))

	return reply
}

// ntpTime is a time as seconds and their fraction, 32 bits each.
func ntpTime(t time.Time) uint64 {
	seconds := uint64(t.Unix()) + ntpEpoch
	fraction := uint64(t.Nanosecond()) << 32 / uint64(time.Second)

	return seconds<<32 | fraction
}
