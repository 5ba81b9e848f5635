// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
)

const (
	// lastWord is how long a connection that is no longer admitted stays open, so that the status of its calls is sent.
	lastWord = time.Second / 5
	// unaryGrace is how long its unary calls may continue. A client that has configured the machine without a certificate gets
	// the answer.
	unaryGrace = 5 * time.Second
	// recheck is how often the end of a call's certificate is checked: the clock may be set.
	recheck = time.Minute
)

// callers are the connections without a certificate, and the running calls. When the view changes or a certificate ends, those
// that would no longer be admitted are ended.
type callers struct {
	view func() *View

	mu        sync.Mutex
	strangers map[*connection]struct{}
	calls     map[*call]struct{}
}

func newCallers(view func() *View) *callers {
	return &callers{view: view, strangers: map[*connection]struct{}{}, calls: map[*call]struct{}{}}
}

// look checks all of them against a new view.
func (c *callers) look(v *View) {
	c.mu.Lock()
	strangers, calls := slices.Collect(maps.Keys(c.strangers)), slices.Collect(maps.Keys(c.calls))
	c.mu.Unlock()

	for _, call := range calls {
		call.look()
	}

	if v.Open {
		return
	}

	for _, s := range strangers {
		c.dismiss(s, time.Now().Add(unaryGrace))
	}
}

// stranger records a new connection without a certificate, and returns the function that removes it.
func (c *callers) stranger(conn *connection) (gone func()) {
	c.mu.Lock()
	c.strangers[conn] = struct{}{}
	c.mu.Unlock()

	// Maintenance mode may have ended during the handshake.
	if !c.view().Open {
		c.dismiss(conn, time.Now())
	}

	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()

		delete(c.strangers, conn)
	}
}

// dismiss closes a connection without a certificate after its calls have ended, or after until.
func (c *callers) dismiss(conn *connection, until time.Time) {
	time.AfterFunc(lastWord, func() {
		if c.busy(conn) && time.Now().Before(until) {
			c.dismiss(conn, until)
		} else {
			conn.Close() // it is no longer admitted
		}
	})
}

// busy reports whether a call of the connection runs, or has ended so recently that its answer may not be sent yet.
func (c *callers) busy(conn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if time.Since(conn.called) < lastWord {
		return true
	}

	for call := range c.calls {
		if call.conn == conn {
			return true
		}
	}

	return false
}

// call is a running call.
type call struct {
	grpc.ServerStream

	callers *callers
	conn    *connection // nil if our listener did not accept it
	id      *identity
	unary   bool
	ctx     context.Context // the stream's, until the caller is no longer admitted
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	refused bool
	ended   bool
}

// Context implements grpc.ServerStream.
func (c *call) Context() context.Context { return c.ctx }

// begin records a call. Call it before the call is admitted by a view, so that no change of the view is missed.
func (c *callers) begin(in grpc.ServerStream, method string) *call {
	out := &call{ServerStream: in, callers: c, conn: connectionOf(in.Context()), id: identityOf(in.Context()), unary: isUnary(method)}
	out.ctx, out.cancel = context.WithCancelCause(in.Context())

	c.mu.Lock()
	c.calls[out] = struct{}{}
	c.mu.Unlock()

	return out
}

// end removes the call.
func (c *call) end() {
	c.callers.mu.Lock()
	delete(c.callers.calls, c)

	if c.conn != nil {
		c.conn.called = time.Now()
	}

	c.callers.mu.Unlock()

	c.mu.Lock()
	defer c.mu.Unlock()

	c.ended = true

	if c.timer != nil {
		c.timer.Stop()
	}

	c.cancel(nil)
}

// look ends the call if its caller would no longer be admitted. Otherwise it schedules the next check.
func (c *call) look() {
	view := c.callers.view()

	// While certificates are issued, no new caller is admitted. Running calls with a certificate continue.
	if view.CAs == nil && !view.Open && c.id.hasCertificate() {
		return
	}

	until, err := c.id.admitted(view, time.Now())

	c.mu.Lock()
	defer c.mu.Unlock()

	if c.ended || c.refused {
		return
	}

	if c.timer != nil {
		c.timer.Stop()
	}

	switch c.refused = err != nil; {
	case err != nil && c.unary:
		c.timer = time.AfterFunc(unaryGrace, func() { c.refuse(err) })
	case err != nil:
		go c.refuse(err)
	case !until.IsZero():
		c.timer = time.AfterFunc(min(time.Until(until), recheck), c.look)
	}
}

// refuse ends the call, and the connection if the caller does not read the status.
func (c *call) refuse(err error) {
	c.cancel(err)

	if c.conn == nil {
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if !c.ended {
		c.timer = time.AfterFunc(lastWord, func() { c.conn.Close() }) // it is no longer admitted
	}
}

// status returns the error of a call that has ended: the reason if refuse ended it, else err.
func (c *call) status(err error) error {
	if cause := context.Cause(c.ctx); cause != nil && c.ServerStream.Context().Err() == nil {
		return cause
	}

	return err
}
