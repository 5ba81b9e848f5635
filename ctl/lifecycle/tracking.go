// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

const (
	// pollInterval is the time between two polls of a node that goes down or comes up.
	pollInterval = 500 * time.Millisecond
	// pollTimeout is the timeout of one poll.
	pollTimeout = 10 * time.Second
	// eventsTimeout is how long to wait for events that a node sent before it went down.
	eventsTimeout = 2 * time.Second
)

// tracking holds the flags of commands that take a node down, and follows the node.
type tracking struct {
	wait    bool
	debug   bool
	timeout time.Duration
	out     *session.Lines
}

func (t *tracking) flags(cmd *cobra.Command, wait string) {
	cmd.Flags().BoolVar(&t.wait, "wait", true, wait)
	cmd.Flags().BoolVar(&t.debug, "debug", false, "also show the kernel log; implies --wait")
	cmd.Flags().DurationVar(&t.timeout, "timeout", 30*time.Minute, "with --wait: how long to wait")
}

// beginner begins an operation on a node, and returns the actor of its events.
type beginner func(n session.Node, ctx context.Context) (actor string, err error)

// waiter waits until the node is in the expected state. The node was in the boot before.
type waiter func(ctx context.Context, n session.Node, before boot, say func(string)) error

// each is follow for all nodes at once.
func (t *tracking) each(s *session.Session, cmd *cobra.Command, begin beginner, done waiter) error {
	t.out = session.NewLines(cmd.ErrOrStderr())

	return s.Each(cmd, func(ctx context.Context, n session.Node) error { return t.follow(ctx, n, begin, done) })
}

// follow calls begin. With --wait it prints the events of the operation until done returns.
func (t *tracking) follow(ctx context.Context, n session.Node, begin beginner, done waiter) (err error) {
	if !t.wait && !t.debug {
		_, err := begin(n, ctx)

		return err
	}

	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, errTimeout)
	defer cancel()

	before, err := bootOf(ctx, n)
	if err != nil {
		return fmt.Errorf("read the boot of the node: %w", err)
	}

	if t.debug {
		watching, stop := context.WithCancel(ctx)
		begun := make(chan struct{})

		var watched sync.WaitGroup

		defer func() {
			// Wait for the first line of the log: the log of the new boot may not have been read yet.
			if err == nil {
				wait(ctx, begun)
			}

			stop()
			watched.Wait()
		}()

		watched.Go(func() { t.kernelLog(watching, n, sync.OnceFunc(func() { close(begun) })) })
	}

	actor, err := begin(n, ctx)
	if err != nil {
		return err
	}

	say := func(text string) { t.out.Print(n.Name, text) } // a failure to print does not stop the operation
	events, stop := context.WithCancel(ctx)
	printed := make(chan struct{})

	go func() {
		defer close(printed)

		t.events(events, n, actor, say)
	}()

	err = done(ctx, n, before, say)

	// The last events may still be in transit. They end with the connection.
	wait(ctx, printed)
	stop()
	<-printed

	return err
}

// wait waits for done, at most for eventsTimeout.
func wait(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(eventsTimeout):
	case <-ctx.Done():
	}
}

// events prints the events of the actor until the connection is lost.
func (t *tracking) events(ctx context.Context, n session.Node, actor string, say func(string)) {
	for event, err := range n.Events(ctx, &machine.EventsRequest{TailEvents: -1, WithActorId: actor}) {
		if err != nil {
			return
		}

		source, message := event.Describe()
		say(source + " " + message)
	}
}

// kernelLog prints the new lines of the kernel log, and the whole log of the following boots.
func (t *tracking) kernelLog(ctx context.Context, n session.Node, begun func()) {
	for tail := true; ctx.Err() == nil; tail = false {
		log := n.Dmesg(ctx, true, tail)
		t.out.Copy(n.Name, notifyingReader{log, begun}) // the node is down: the loop tries again
		log.Close()

		sleep(ctx, pollInterval)
	}
}

// notifyingReader is a reader that calls begun when it has read something.
type notifyingReader struct {
	io.Reader
	begun func()
}

// Read implements io.Reader.
func (r notifyingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.begun()
	}

	return n, err
}

var errTimeout = errors.New("timed out (--timeout)")

// until polls holds until it returns true. When the context ends, the error has the last failure.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	var last error

	for ; ctx.Err() == nil; sleep(ctx, pollInterval) {
		ok, err := holds()

		switch {
		case ctx.Err() != nil: // the failure of a call that was cut short is of no use
		case ok:
			return nil
		default:
			last = err
		}
	}

	err := fmt.Errorf("wait %s: %w", what, context.Cause(ctx))
	if last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}

	return err
}

// sleep returns early when the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// boot identifies a boot of a node. A node keeps its resources in memory, so a resource that every boot creates has another time of
// creation in each.
type boot time.Time

func bootOf(ctx context.Context, n session.Node) (boot, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()

	r, err := n.Resource(ctx, client.Kind{Namespace: "meta", Type: "ResourceDefinitions.meta.cosi.dev"}, "resourcedefinitions.meta.cosi.dev")
	if err != nil {
		return boot{}, err
	}

	return boot(r.GetMetadata().GetCreated().AsTime()), nil
}

// stageOf returns the stage of the node: booting, maintenance, running etc.
func stageOf(ctx context.Context, n session.Node) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()

	r, err := n.Resource(ctx, client.Kind{Namespace: "runtime", Type: "MachineStatuses.runtime.talos.dev"}, "machine")
	if err != nil {
		return "", err
	}

	spec, err := session.DecodeSpec[struct {
		Stage string `yaml:"stage"`
	}](r)

	return spec.Stage, err
}
