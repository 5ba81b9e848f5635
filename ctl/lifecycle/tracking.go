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
	// pollInterval is how often a node that goes down or comes up is asked.
	pollInterval = 500 * time.Millisecond
	// pollTimeout is how long one such question may take.
	pollTimeout = 10 * time.Second
	// lastWords is how long events may take that a node has sent before it went down.
	lastWords = 2 * time.Second
)

// tracking holds the flags of the commands which take a node down, and follows a node on its way.
type tracking struct {
	wait    bool
	debug   bool
	timeout time.Duration
	out     *session.Lines
}

func (t *tracking) flags(cmd *cobra.Command, wait string) {
	cmd.Flags().BoolVar(&t.wait, "wait", true, wait)
	cmd.Flags().BoolVar(&t.debug, "debug", false, "show the kernel's log as well; implies --wait")
	cmd.Flags().DurationVar(&t.timeout, "timeout", 30*time.Minute, "with --wait: how long to wait")
}

// beginner begins something on a node, and returns the actor of its events.
type beginner func(n session.Node, ctx context.Context) (actor string, err error)

// waiter returns when the node, which was in a boot before, is where it should be.
type waiter func(ctx context.Context, n session.Node, before boot, say func(string)) error

// each is follow for all nodes at once.
func (t *tracking) each(s *session.Session, cmd *cobra.Command, begin beginner, done waiter) error {
	t.out = session.NewLines(cmd.ErrOrStderr())

	return s.Each(cmd, func(ctx context.Context, n session.Node) error { return t.follow(ctx, n, begin, done) })
}

// follow calls begin, and if it is to wait, prints the events of what was begun until done returns.
func (t *tracking) follow(ctx context.Context, n session.Node, begin beginner, done waiter) (err error) {
	if !t.wait && !t.debug {
		_, err := begin(n, ctx)

		return err
	}

	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, errTimeout)
	defer cancel()

	before, err := bootOf(ctx, n)
	if err != nil {
		return fmt.Errorf("see which boot the node is in: %w", err)
	}

	if t.debug {
		watching, stop := context.WithCancel(ctx)
		watched, heard := make(chan struct{}), make(chan struct{})

		defer func() {
			// Of a boot that was waited for, the log is asked for at the latest now.
			if err == nil {
				wait(ctx, heard)
			}

			stop()
			<-watched
		}()

		go func() {
			defer close(watched)

			t.kernelLog(watching, n, sync.OnceFunc(func() { close(heard) }))
		}()
	}

	actor, err := begin(n, ctx)
	if err != nil {
		return err
	}

	say := func(text string) { t.out.Print(n.Name, text) } // the node is on its way all the same
	events, stop := context.WithCancel(ctx)
	printed := make(chan struct{})

	go func() {
		defer close(printed)

		t.events(events, n, actor, say)
	}()

	err = done(ctx, n, before, say)

	// What the node said last may still be on its way; its end is that of the connection.
	wait(ctx, printed)
	stop()
	<-printed

	return err
}

// wait gives the last words their time.
func wait(ctx context.Context, said <-chan struct{}) {
	select {
	case <-said:
	case <-time.After(lastWords):
	case <-ctx.Done():
	}
}

// events prints the events of the actor until the connection is lost: the node is then past telling.
func (t *tracking) events(ctx context.Context, n session.Node, actor string, say func(string)) {
	for event, err := range n.Events(ctx, &machine.EventsRequest{TailEvents: -1, WithActorId: actor}) {
		if err != nil {
			return
		}

		source, message := event.Describe()
		say(source + " " + message)
	}
}

// kernelLog prints what the kernel says from now on, and all that it says in the boots that follow.
func (t *tracking) kernelLog(ctx context.Context, n session.Node, heard func()) {
	for tail := true; ctx.Err() == nil; tail = false {
		log := n.Dmesg(ctx, true, tail)
		t.out.Copy(n.Name, noticed{log, heard}) // a node that goes down or is not up yet: it is asked again
		log.Close()

		sleep(ctx, pollInterval)
	}
}

// noticed is a reader that tells when there was something to read.
type noticed struct {
	io.Reader
	heard func()
}

// Read implements io.Reader.
func (r noticed) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.heard()
	}

	return n, err
}

var errTimeout = errors.New("the time of --timeout is over")

// until asks again and again, until it holds or the time is over; then the last failure tells why.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	var last error

	for ; ctx.Err() == nil; sleep(ctx, pollInterval) {
		ok, err := holds()

		switch {
		case ctx.Err() != nil: // a question that was cut short tells nothing
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

// boot tells one boot of a node from another. A node keeps its resources in memory, so the time at which one that is
// there from the start was created belongs to one boot only.
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

// stage is what the node is at: booting, maintenance, running and so on.
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
