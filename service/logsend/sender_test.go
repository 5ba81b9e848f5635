// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestParseServer(t *testing.T) {
	for text, want := range map[string]string{
		"tcp://192.0.2.1:99": "tcp 192.0.2.1:99", "udp://[2001:db8::1]:5/": "udp [2001:db8::1]:5", "http://192.0.2.1:99": "", "tcp://192.0.2.1": "",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}

		server, err := ParseServer(*u)
		if got := strings.TrimSpace(server.Network + " " + server.Address); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// reports keeps what a sender reports.
type reports struct {
	mu  sync.Mutex
	all []error
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.all = append(r.all, err)
}

func (r *reports) list() []error {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.all
}

func send(t *testing.T, s *Sender, texts ...string) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	for _, text := range texts {
		if err := s.Send(ctx, OfService("x", []byte(text), at)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTCP: a line is an object. When the server goes, the next object goes to the one that comes after it.
func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	var told reports

	s := NewSender(Server{Network: "tcp", Address: listener.Addr().String()}, told.add)
	defer s.Close()

	for _, want := range [][]string{{"one", "two"}, {"three"}} {
		send(t, s, want...)

		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}

		lines := bufio.NewScanner(conn)
		for _, text := range want {
			if !lines.Scan() || !strings.Contains(lines.Text(), `"msg":"`+text+`"`) {
				t.Errorf("got %q, want %s", lines.Text(), text)
			}
		}

		ended := s.ended

		conn.Close()
		<-ended // the sender has noticed it
	}

	listener.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()

	if err := s.Send(ctx, Fields{fieldMessage: "four"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a server: got %v", err)
	}

	if all := told.list(); len(all) == 0 || all[len(all)-1] == nil {
		t.Errorf("reports: got %v, want that the server cannot be reached", all)
	}
}

// TestUDP: a packet is an object. Too long ones are cut, and a server that is not there does not delay.
func TestUDP(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	var told reports

	s := NewSender(Server{Network: "udp", Address: conn.LocalAddr().String()}, told.add)
	defer s.Close()

	send(t, s, "one", strings.Repeat("\x01", maxPacket))

	packet := make([]byte, 1<<16)
	for i, want := range []string{`"msg":"one"`, strings.Repeat(`\u0001`, 100) + "…\""} {
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}

		n, _, err := conn.ReadFrom(packet)
		if err != nil || !strings.Contains(string(packet[:n]), want) || !strings.HasSuffix(string(packet[:n]), "}\n") {
			t.Errorf("packet %d: got %d bytes, %v, want %s", i, n, err, want)
		}
	}

	conn.Close()
	send(t, s, "two", "three", "four", "five")

	for _, err := range told.list() {
		if err != nil {
			t.Errorf("got the report %v", err)
		}
	}
}
