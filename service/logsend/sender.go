// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// Server is where logs are sent to.
type Server struct {
	// Network is tcp or udp.
	Network, Address string
	// Tags are fields of each object.
	Tags map[string]string
}

// ParseServer returns the server of a URL: tcp://HOST:PORT or udp://HOST:PORT.
func ParseServer(u url.URL) (Server, error) {
	if u.Scheme != "tcp" && u.Scheme != "udp" {
		return Server{}, fmt.Errorf("log server %s: the scheme is %q: want tcp or udp", &u, u.Scheme)
	}

	if u.Port() == "" {
		return Server{}, fmt.Errorf("log server %s: it has no port", &u)
	}

	return Server{Network: u.Scheme, Address: u.Host}, nil
}

// Times of a connection.
const (
	dialTime  = 10 * time.Second
	writeTime = 30 * time.Second

	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// maxPacket is the size of the largest object that is sent over UDP. The text of a longer one is cut.
const (
	maxPacket = 65000
	cutText   = 8 << 10
)

// Dialer connects to a server; that of net.Dialer outside of tests.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Sender has the connection to a server.
type Sender struct {
	Server Server
	Dial   Dialer
	// Report is called when the server cannot be reached, and with nil when it can again. It must not block.
	Report func(error)

	conn   net.Conn
	ended  <-chan error // of the goroutine that reads from conn
	pause  time.Duration
	failed bool
}

// NewSender returns a sender without a connection.
func NewSender(server Server, report func(error)) *Sender {
	return &Sender{Server: server, Dial: (&net.Dialer{Timeout: dialTime}).DialContext, Report: report}
}

// Send sends an object. It tries until the server has taken it, or ctx ends; then it returns its error. Over UDP it tries only until there
// is a way to the server.
func (s *Sender) Send(ctx context.Context, fields Fields) error {
	object, err := s.object(fields)
	if err != nil {
		return nil // a line that cannot be JSON is not sent: it never can
	}

	for {
		err := s.try(ctx, object)
		if ctx.Err() != nil {
			return ctx.Err()
		}

		s.tell(err)

		if err == nil {
			return nil
		}

		s.pause = min(max(2*s.pause, firstPause), lastPause)

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.pause):
		}
	}
}

// unnoticed reports whether an error is one of UDP's, by which an object is lost without notice to anyone.
func (s *Sender) unnoticed(err error) bool {
	return s.Server.Network == "udp" && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EMSGSIZE))
}

func (s *Sender) object(fields Fields) ([]byte, error) {
	object, err := encode(fields, s.Server.Tags)
	if err != nil || s.Server.Network != "udp" || len(object) <= maxPacket {
		return object, err
	}

	short := Fields{}
	for _, name := range []string{fieldMessage, fieldTime, fieldLevel, fieldService} {
		if value, ok := fields[name]; ok {
			short[name] = value
		}
	}

	if text, ok := fields[fieldMessage].(string); ok && len(text) > cutText {
		short[fieldMessage] = text[:cutText] + "…"
	}

	return encode(short, s.Server.Tags)
}

func (s *Sender) try(ctx context.Context, object []byte) error {
	if s.conn == nil {
		conn, err := s.Dial(ctx, s.Server.Network, s.Server.Address)
		if err != nil {
			return err
		}

		s.conn = conn
		s.ended = drain(conn, s.Server.Network)
	}

	conn := s.conn
	err := conn.SetWriteDeadline(time.Now().Add(writeTime))

	stop := context.AfterFunc(ctx, func() { conn.SetWriteDeadline(time.Unix(1, 0)) }) // ends a pending write
	defer stop()

	if err == nil {
		_, err = conn.Write(object)
	}

	if err == nil {
		return nil
	}

	s.Close()

	if s.unnoticed(err) {
		return nil
	}

	return err
}

// drain reads from a connection until the server closes it. Otherwise the first object after that would be lost.
func drain(conn net.Conn, network string) <-chan error {
	if network == "udp" {
		return nil
	}

	return guard.Go(func() error {
		_, err := io.Copy(io.Discard, conn)

		return errors.Join(err, conn.Close())
	})
}

// tell reports a change of whether the server can be reached.
func (s *Sender) tell(err error) {
	if err == nil {
		s.pause = 0
	}

	if failed := err != nil; failed || s.failed {
		s.failed = failed
		s.Report(err)
	}
}

// Close closes the connection.
func (s *Sender) Close() {
	if s.conn == nil {
		return
	}

	_ = s.conn.Close() // it is not used any more

	if s.ended != nil {
		<-s.ended
	}

	s.conn, s.ended = nil, nil
}
