// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

// monitor is a client of QMP, QEMU's control protocol: one JSON object a line, answers in the order of the commands,
// with events in between.
type monitor struct {
	conn net.Conn
	// replies has the answer to the current command, and is closed when the connection ends.
	replies chan qmpMessage
	// busy holds a token during a command.
	busy chan struct{}
}

// qmpMessage is a message of QEMU.
type qmpMessage struct {
	Return json.RawMessage `json:"return"`
	Error  *qmpError       `json:"error"`
	Event  string          `json:"event"`
	Data   struct {
		Device string `json:"device"`
		Guest  bool   `json:"guest"`
		Reason string `json:"reason"`
		Action string `json:"action"`
	} `json:"data"`
}

// qmpError is QEMU's refusal of a command.
type qmpError struct {
	Class string `json:"class"`
	Desc  string `json:"desc"`
}

func (e *qmpError) Error() string { return e.Desc }

var errMonitorClosed = errors.New("the machine is off")

// newMonitor returns a monitor on a connection. One goroutine passes events to onEvent until the connection ends.
func newMonitor(conn net.Conn, onEvent func(qmpMessage)) *monitor {
	m := &monitor{conn: conn, replies: make(chan qmpMessage), busy: make(chan struct{}, 1)}

	go func() {
		defer close(m.replies)

		_ = readMessages(conn, func(msg qmpMessage) { // the end of QEMU is handled elsewhere
			switch {
			case msg.Event != "":
				onEvent(msg)
			case msg.Return != nil || msg.Error != nil:
				m.replies <- msg
			}
		})
	}()

	return m
}

// readMessages calls handle with each message of a stream until it ends.
func readMessages(r io.Reader, handle func(qmpMessage)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)

	for lines.Scan() {
		var msg qmpMessage
		if err := json.Unmarshal(lines.Bytes(), &msg); err != nil {
			return fmt.Errorf("read QEMU's message %.80q: %w", lines.Text(), err)
		}

		handle(msg)
	}

	return lines.Err()
}

// qmpCommand is a command for QEMU.
type qmpCommand struct {
	Name      string `json:"execute"`
	Arguments any    `json:"arguments,omitempty"`
}

// execute runs a command and waits for its answer.
func (m *monitor) execute(ctx context.Context, command string) error {
	return m.do(ctx, qmpCommand{Name: command})
}

func (m *monitor) do(ctx context.Context, c qmpCommand) error {
	command := c.Name

	select {
	case m.busy <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("call QEMU: %s: %w", command, ctx.Err())
	}

	if err := json.NewEncoder(m.conn).Encode(c); err != nil { // one write, with its newline
		<-m.busy

		return fmt.Errorf("call QEMU: %s: %w", command, errors.Join(errMonitorClosed, err))
	}

	answer := make(chan error, 1)

	go func() { // outlives ctx, so that the next command does not get this answer
		defer func() { <-m.busy }()

		switch msg, ok := <-m.replies; {
		case !ok:
			answer <- errMonitorClosed
		case msg.Error != nil:
			answer <- msg.Error
		default:
			answer <- nil
		}
	}()

	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("call QEMU: %s: %w", command, err)
		}

		return nil
	case <-ctx.Done():
		return fmt.Errorf("call QEMU: %s: no answer: %w", command, ctx.Err())
	}
}
