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
	// lastWord is how long a connection stays that is not let in any more, so that its calls' status gets out.
	lastWord = time.Second / 5
	// unaryGrace is how long its calls may go on that have one answer. Who has configured the machine without a certificate
	// shall hear that it has worked.
	unaryGrace = 5 * time.Second
	// recheck is how often a call is looked at that runs until its certificate ends: the clock may be set.
	recheck = time.Minute
)

// callers are the connections without a certificate, and the calls that run. When the view changes, and when a certificate
// ends, those are ended that would not be let in any more.
type callers struct {
	view func() *View

	mu        sync.Mutex
	strangers map[*connection]struct{}
	calls     map[*call]struct{}
}

func newCallers(view func() *View) *callers {
	return &callers{view: view, strangers: map[*connection]struct{}{}, calls: map[*call]struct{}{}}
}

// look goes through all when there is another view.
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

// stranger notes a connection without a certificate that comes in, and returns what forgets it.
func (c *callers) stranger(conn *connection) (gone func()) {
	c.mu.Lock()
	c.strangers[conn] = struct{}{}
	c.mu.Unlock()

	// Maintenance may have ended since the handshake began.
	if !c.view().Open {
		c.dismiss(conn, time.Now())
	}

	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()

		delete(c.strangers, conn)
	}
}

// dismiss closes the connection of a stranger, when the calls are over that may go on.
func (c *callers) dismiss(conn *connection, until time.Time) {
	time.AfterFunc(lastWord, func() {
		if c.busy(conn) && time.Now().Before(until) {
			c.dismiss(conn, until)
		} else {
			conn.Close() // it is not let in any more
		}
	})
}

func (c *callers) busy(conn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	for call := range c.calls {
		if call.conn == conn {
			return true
		}
	}

	return false
}

// call is one that runs.
type call struct {
	grpc.ServerStream

	callers *callers
	conn    *connection // nil if our listener did not accept it
	id      *identity
	unary   bool
	ctx     context.Context // the stream's, until the caller is not let in any more
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	refused bool
	ended   bool
}

// Context implements grpc.ServerStream.
func (c *call) Context() context.Context { return c.ctx }

// begin counts a call in. It comes before the look at the view that lets the call in, so that no change is missed.
func (c *callers) begin(in grpc.ServerStream, method string) *call {
	out := &call{ServerStream: in, callers: c, conn: connectionOf(in.Context()), id: identityOf(in.Context()), unary: isUnary(method)}
	out.ctx, out.cancel = context.WithCancelCause(in.Context())

	c.mu.Lock()
	c.calls[out] = struct{}{}
	c.mu.Unlock()

	return out
}

// end counts it out.
func (c *call) end() {
	c.callers.mu.Lock()
	delete(c.callers.calls, c)
	c.callers.mu.Unlock()

	c.mu.Lock()
	defer c.mu.Unlock()

	c.ended = true

	if c.timer != nil {
		c.timer.Stop()
	}

	c.cancel(nil)
}

// look ends the call if its caller would not be let in any more, and else sees to it that it is looked at again.
func (c *call) look() {
	view := c.callers.view()

	// Nobody is let in for a moment when certificates are made: that is no reason to end what runs, of those who have one.
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

// refuse ends the call, and the connection of a caller who does not take the status.
func (c *call) refuse(err error) {
	c.cancel(err)

	if c.conn == nil {
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if !c.ended {
		c.timer = time.AfterFunc(lastWord, func() { c.conn.Close() }) // it is not let in any more
	}
}

// status of a call that has ended: why it was ended here, if it was.
func (c *call) status(err error) error {
	if cause := context.Cause(c.ctx); cause != nil && c.ServerStream.Context().Err() == nil {
		return cause
	}

	return err
}
