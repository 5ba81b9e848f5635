// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/guard"
)

func texts(q *Queue) (all []string) {
	for {
		l, lost, ok := q.take()
		if !ok {
			return all
		}

		if lost > 0 {
			all = append(all, fmt.Sprintf("(%d lost)", lost))
		}

		all = append(all, l.service+": "+string(l.text))
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := newQueue(3 * (lineOverhead + 1))
	for i := range 5 {
		q.add(line{"x", fmt.Append(nil, i), at})
	}

	if diff := cmp.Diff([]string{"(2 lost)", "x: 2", "x: 3", "x: 4"}, texts(q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if q.bytes != 0 {
		t.Errorf("an empty queue has %d bytes", q.bytes)
	}
}

// TestOutlet: the first queue begins with the first lines of the boot, a later one does not, and a closed one gets no more.
func TestOutlet(t *testing.T) {
	o := &Outlet{}

	text := []byte("1")
	o.Append("a", text)
	text[0] = 'x' // the line is copied

	first := o.Open()
	o.Append("b", []byte("2"))
	o.Decide()
	o.Append("c", []byte("3"))

	later := o.Open()
	o.Append("d", []byte("4"))
	o.Close(later)
	o.Append("e", []byte("5"))

	if diff := cmp.Diff([]string{"a: 1", "b: 2", "c: 3", "d: 4", "e: 5"}, texts(first)); diff != "" {
		t.Errorf("first queue (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"d: 4"}, texts(later)); diff != "" {
		t.Errorf("later queue (-want +got):\n%s", diff)
	}
}

func TestQueueRuns(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	o := &Outlet{}
	q := o.Open()
	q.limit = lineOverhead + 91

	o.Append("a", []byte(strings.Repeat("x", 90)))
	o.Append("a", []byte("1"))
	o.Append("a", []byte("2"))

	ctx, cancel := context.WithCancel(t.Context())
	ended := guard.Go(func() error {
		return q.Run(ctx, NewSender(Server{Network: "tcp", Address: listener.Addr().String()}, func(error) {}))
	})

	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}

	lines := bufio.NewScanner(conn)

	var got []string

	for lines.Scan() {
		var fields map[string]string
		if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
			t.Fatal(err)
		}

		if got = append(got, fields["msg"]); len(got) == 2 {
			o.Append("b", []byte("3")) // it waits for more
		}

		if len(got) == 3 {
			break
		}
	}

	if diff := cmp.Diff([]string{"… 2 lines of services were dropped before they could be sent", "2", "3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	cancel()

	if err := <-ended; err != nil {
		t.Error(err)
	}
}
