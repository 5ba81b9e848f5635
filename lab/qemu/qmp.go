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

// monitor speaks QMP, QEMU's control protocol: a JSON object a line, commands
// answered in order, with events in between.
type monitor struct {
	conn net.Conn
	// replies has the answer to the command under way, and is closed when the
	// connection ends.
	replies chan qmpMessage
	// busy holds a token while a command is under way.
	busy chan struct{}
}

// qmpMessage is any message that QEMU sends.
type qmpMessage struct {
	Greeting json.RawMessage `json:"QMP"`
	Return   json.RawMessage `json:"return"`
	Error    *qmpError       `json:"error"`
	Event    string          `json:"event"`
	Data     struct {
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

// newMonitor begins a conversation; events are handed to onEvent on one
// goroutine until the connection ends.
func newMonitor(conn net.Conn, onEvent func(qmpMessage)) *monitor {
	m := &monitor{conn: conn, replies: make(chan qmpMessage), busy: make(chan struct{}, 1)}

	go func() {
		defer close(m.replies)

		_ = readMessages(conn, func(msg qmpMessage) { // that QEMU is gone shows elsewhere
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

// readMessages hands each message of a stream on until it ends.
func readMessages(r io.Reader, handle func(qmpMessage)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)

	for lines.Scan() {
		var msg qmpMessage
		if err := json.Unmarshal(lines.Bytes(), &msg); err != nil {
			return fmt.Errorf("QEMU said %.80q: %w", lines.Text(), err)
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
		return fmt.Errorf("tell QEMU %s: %w", command, ctx.Err())
	}

	if err := json.NewEncoder(m.conn).Encode(c); err != nil { // one write, with its newline
		<-m.busy

		return fmt.Errorf("tell QEMU %s: %w", command, errors.Join(errMonitorClosed, err))
	}

	answer := make(chan error, 1)

	go func() { // outlives ctx, so that the next command does not get this one's answer
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
			return fmt.Errorf("tell QEMU %s: %w", command, err)
		}

		return nil
	case <-ctx.Done():
		return fmt.Errorf("tell QEMU %s: no answer: %w", command, ctx.Err())
	}
}
