// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/beevik/ntp"
)

// FuzzQuery answers a query with any bytes: the result is an error or a valid sample.
func FuzzQuery(f *testing.F) {
	good := make([]byte, 48)
	good[0], good[1] = 4<<3|4, 2 // version 4, server; stratum
	copy(good[12:], "LOCL")

	f.Add(good, true)
	f.Add(append([]byte{4<<3 | 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'R', 'A', 'T', 'E'}, make([]byte, 32)...), true)
	f.Add(append(good, make([]byte, 20)...), true)
	f.Add([]byte{}, false)

	f.Fuzz(func(t *testing.T, reply []byte, echo bool) {
		got, err := query("203.0.113.1", ntp.QueryOptions{
			Timeout: time.Second,
			Dialer:  func(string, string) (net.Conn, error) { return &exchange{reply: reply, echo: echo}, nil },
		})

		if kiss := (*KissError)(nil); errors.As(err, &kiss) && kiss.pause() < maxPoll {
			t.Errorf("a kiss of death %q gets a pause of %s", kiss.Code, kiss.pause())
		}

		if err != nil {
			return
		}

		if got.RoundTrip < 0 || got.Distance < 0 || got.Distance > time.Minute {
			t.Errorf("got %+v", got)
		}

		a := answer{Sample: got}
		if a.low() > a.Offset || a.high() < a.Offset {
			t.Errorf("the offset %s is not between %s and %s", got.Offset, a.low(), a.high())
		}
	})
}

// exchange is a connection to a server with one reply; echo makes the reply match the query.
type exchange struct {
	net.Conn

	reply []byte
	echo  bool
	read  bool
}

func (e *exchange) Write(b []byte) (int, error) {
	if e.echo && len(b) >= 48 && len(e.reply) >= 32 {
		e.reply = append([]byte(nil), e.reply...)
		copy(e.reply[24:32], b[40:48]) // origin
	}

	return len(b), nil
}

func (e *exchange) Read(b []byte) (int, error) {
	if e.read {
		return 0, os.ErrDeadlineExceeded
	}

	e.read = true

	return copy(b, e.reply), nil
}

func (e *exchange) Close() error                     { return nil }
func (e *exchange) SetDeadline(time.Time) error      { return nil }
func (e *exchange) SetReadDeadline(time.Time) error  { return nil }
func (e *exchange) SetWriteDeadline(time.Time) error { return nil }
func (e *exchange) LocalAddr() net.Addr              { return &net.UDPAddr{IP: net.IPv4(203, 0, 113, 2), Port: 123} }
func (e *exchange) RemoteAddr() net.Addr {
	return &net.UDPAddr{IP: net.IPv4(203, 0, 113, 1), Port: 123}
}
