// SPDX-License-Identifier: Apache-2.0

// Package guard starts goroutines whose panic does not end the process.
//
// The controller runtime recovers a panic of a controller, and the supervisor recovers one of a service. Neither can recover
// a panic on a goroutine that the controller or the service starts: such a panic ends the process, and when process 1 ends,
// the kernel panics. A goroutine that is started with this package turns a panic into an error. The controller or service
// that waits for the goroutine fails with that error, and is started again:
//
//	listening := guard.Go(func() error { return listen(ctx, changed) })
//	…
//	case err := <-listening:
//		return err
//
// A goroutine that nothing waits for is started with Detach, which logs its panic. A house test refuses the go statement and
// sync.WaitGroup.Go in the packages of process 1.
//
// After a panic in the state itself, or while a lock is held, its data may be inconsistent. So cosi's own packages start
// their goroutines without a guard.
package guard

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Panic is the error that a panic becomes.
type Panic struct {
	// Value is what panic was called with.
	Value any
	// Stack is that of the goroutine.
	Stack []byte
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)

	return err
}

// Call calls f. A panic of f is returned as a *Panic.
func Call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Panic{Value: p, Stack: debug.Stack()}
		}
	}()

	return f()
}

// Go calls f on a new goroutine. The channel receives the error of f, or its panic as a *Panic, and is then closed.
func Go(f func() error) <-chan error { return GoThen(f, func() {}) }

// GoThen is Go for who looks at the channel without waiting, and must be told to look: then is called when the channel has the result. A call
// at the end of f would come too early.
func GoThen(f func() error, then func()) <-chan error {
	ended := make(chan error, 1)

	go func() {
		ended <- Call(f)
		close(ended)
		then()
	}()

	return ended
}

// Detach calls f on a goroutine that nothing waits for. A panic of f is logged with the name.
func Detach(log *slog.Logger, name string, f func()) {
	go func() {
		if err := Call(func() error { f(); return nil }); err != nil {
			log.Error("panicked", "goroutine", name, "error", err)
		}
	}()
}

// Group is a set of goroutines that are waited for together. The zero Group is empty.
type Group struct {
	running sync.WaitGroup

	mu    sync.Mutex
	first error
}

// Go calls f on a goroutine of the group.
func (g *Group) Go(f func() error) {
	g.running.Go(func() {
		if err := Call(f); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()

			if g.first == nil {
				g.first = err
			}
		}
	})
}

// Wait waits for all goroutines of the group, and returns the first error or panic.
func (g *Group) Wait() error {
	g.running.Wait()

	g.mu.Lock()
	defer g.mu.Unlock()

	return g.first
}
