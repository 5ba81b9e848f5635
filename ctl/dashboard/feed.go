// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

const (
	logTail      = 500
	retryFirst   = time.Second
	retryLongest = 10 * time.Second
	maxLogLine   = 4096
)

// watched are the kinds that are followed all the time.
var watched = []client.Kind{
	kindOf[runtime.MachineStatusSpec](), kindOf[config.MachineTypeSpec](), kindOf[timeres.StatusSpec](),
	kindOf[network.HostnameStatusSpec](), kindOf[network.StatusSpec](), kindOf[network.LinkStatusSpec](),
	kindOf[network.AddressStatusSpec](), kindOf[network.RouteStatusSpec](), kindOf[network.ResolverStatusSpec](),
	kindOf[network.TimeServerStatusSpec](), kindOf[network.NodeAddressSpec](),
}

// learned is the message about news of a node.
type learned struct {
	node  int
	apply func(*Node)
}

// feed polls and watches the nodes and sends the answers, until its context ends.
type feed struct {
	ctx      context.Context // of the program
	targets  []session.Node
	interval time.Duration
	send     func(tea.Msg)
	running  sync.WaitGroup
}

func (f *feed) start() {
	for i := range f.targets {
		f.running.Go(func() { f.poll(i) })

		for _, kind := range watched {
			f.running.Go(func() { f.follow(f.ctx, i, kind) })
		}
	}
}

// learn sends a change of a node. It is not applied if the context has ended by then.
func (f *feed) learn(ctx context.Context, node int, apply func(*Node)) {
	f.send(learned{node, func(n *Node) {
		if ctx.Err() == nil {
			apply(n)
		}
	}})
}

// poll asks all questions at once, and again an interval after the last answer or timeout.
func (f *feed) poll(node int) {
	t := f.targets[node]

	for types := false; ; {
		var round sync.WaitGroup

		for name, ask := range questions {
			if name == questionTypes && types {
				continue
			}

			round.Go(func() {
				ctx, cancel := context.WithTimeout(t.Forward(f.ctx), max(f.interval, 5*time.Second))
				defer cancel()

				take, err := ask(ctx, t)
				at := time.Now()

				if name == questionTypes {
					types = err == nil
				}

				f.learn(f.ctx, node, func(n *Node) {
					n.answered(name, at, err)

					if err == nil {
						take(n, at)
					}
				})
			})
		}

		round.Wait()

		if !pause(f.ctx, f.interval) {
			return
		}
	}
}

// watch follows a kind until it is stopped.
func (f *feed) watch(node int, kind client.Kind) (stop func()) {
	ctx, cancel := context.WithCancel(f.ctx)

	f.running.Go(func() {
		f.follow(ctx, node, kind)

		// The failure of a watch that was stopped is of no interest.
		f.learn(f.ctx, node, func(n *Node) { delete(n.Errors, watchOf(kind)) })
	})

	return cancel
}

// watchOf returns the name of a watch in the errors of a node.
func watchOf(kind client.Kind) string { return "watch " + kind.Type }

// follow watches a kind of resources, and begins again when the watch breaks.
func (f *feed) follow(ctx context.Context, node int, kind client.Kind) {
	for delay := retryFirst; ; delay = min(2*delay, retryLongest) {
		began, err := f.followOnce(ctx, node, kind)
		if ctx.Err() != nil {
			return
		}

		// A kind that the node does not have, or that the caller may not read, is not a failure of the node. A watch that breaks is a
		// failure only if the next one does not begin.
		switch code := status.Code(err); {
		case began:
			delay = retryFirst
		case code == codes.PermissionDenied, code == codes.Unimplemented:
			delay = retryLongest
		default:
			f.learn(ctx, node, func(n *Node) { n.answered(watchOf(kind), time.Now(), err) })
		}

		if !pause(ctx, delay) {
			return
		}
	}
}

func (f *feed) followOnce(ctx context.Context, node int, kind client.Kind) (began bool, err error) {
	t := f.targets[node]
	initial := map[string]*cosiapi.Resource{}

	for event, err := range t.WatchResources(t.Forward(ctx), kind, "") {
		if err != nil {
			return began, err
		}

		r, id := event.GetResource(), event.GetResource().GetMetadata().GetId()

		switch {
		case event.GetEventType() == cosiapi.EventType_BOOTSTRAPPED:
			began = true

			f.learn(ctx, node, func(n *Node) {
				n.Resources[kind] = initial
				n.answered(watchOf(kind), time.Now(), nil)
			})
		case !began:
			initial[id] = r
		case event.GetEventType() == cosiapi.EventType_DESTROYED:
			f.learn(ctx, node, func(n *Node) { delete(n.Resources[kind], id) })
		default:
			f.learn(ctx, node, func(n *Node) { n.Resources[kind][id] = r })
		}
	}

	return began, errors.New("watch " + kind.Type + ": it ended")
}

// logs follows the log of a service until it is stopped, and begins again when the stream breaks.
func (f *feed) logs(node int, service string) (stop func()) {
	ctx, cancel := context.WithCancel(f.ctx)

	// The caller receives the messages: it must not wait until one is received.
	f.running.Go(func() {
		f.learn(ctx, node, (*Node).forgetLog)

		for delay := retryFirst; ; delay = min(2*delay, retryLongest) {
			err := f.readLog(ctx, node, service)

			f.learn(ctx, node, func(n *Node) {
				if err != nil {
					cause, _ := client.Explain(err)
					n.LogErr = clean(cause)
				}
			})

			if !pause(ctx, delay) {
				return
			}
		}
	})

	return cancel
}

func (f *feed) readLog(ctx context.Context, node int, service string) error {
	t := f.targets[node]
	stream := t.Logs(t.Forward(ctx), &machine.LogsRequest{
		Namespace: client.SystemNamespace, Driver: common.ContainerDriver_CONTAINERD, Id: service, Follow: true, TailLines: logTail,
	})
	defer stream.Close()

	again := true // the stream repeats the lines that were read before

	for in := bufio.NewReaderSize(stream, maxLogLine); ; {
		line, _, err := in.ReadLine() // a longer line is returned in parts
		if err == nil || errors.Is(err, io.EOF) && len(line) > 0 {
			lines := []string{string(line)}

			// Lines that are already buffered go into the same message.
			for len(lines) < logTail && wholeLine(in) {
				more, _, err := in.ReadLine()
				if err != nil {
					break
				}

				lines = append(lines, string(more))
			}

			replace := again
			again = false

			f.learn(ctx, node, func(n *Node) {
				if replace {
					n.forgetLog()
				}

				n.addLog(lines)
			})
		}

		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// wholeLine reports whether the buffer has a whole line.
func wholeLine(in *bufio.Reader) bool {
	there, err := in.Peek(in.Buffered())

	return err == nil && bytes.IndexByte(there, '\n') >= 0
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
