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

// learned is the message that something is known of a node.
type learned struct {
	node  int
	apply func(*Node)
}

// feed asks the nodes and sends what it learns, until its context ends.
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

// learn has what is learned applied, unless the context ends before.
func (f *feed) learn(ctx context.Context, node int, apply func(*Node)) {
	f.send(learned{node, func(n *Node) {
		if ctx.Err() == nil {
			apply(n)
		}
	}})
}

// poll asks all questions at once, and again an interval after the last of them was answered or given up.
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

		// That it could not be followed is no trouble of the node any more.
		f.learn(f.ctx, node, func(n *Node) { delete(n.Errors, watchOf(kind)) })
	})

	return cancel
}

// watchOf is the question that a watch is, among the errors of a node.
func watchOf(kind client.Kind) string { return "watch " + kind.Type }

// follow keeps a kind of resources in line with the node's: a watch, and another one whenever it breaks.
func (f *feed) follow(ctx context.Context, node int, kind client.Kind) {
	for delay := retryFirst; ; delay = min(2*delay, retryLongest) {
		began, err := f.followOnce(ctx, node, kind)
		if ctx.Err() != nil {
			return
		}

		// What the node does not have, or does not show to the caller, is no failure of the node; nor is a watch that
		// breaks, until the next one does not begin.
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

	return began, errors.New("the watch of " + kind.Type + " ended")
}

// logs follows the log of a service until it is stopped, and again whenever it breaks off.
func (f *feed) logs(node int, service string) (stop func()) {
	ctx, cancel := context.WithCancel(f.ctx)

	// The caller is the one who takes messages: it cannot wait for one to be taken.
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

	again := true // what was read before comes anew

	for in := bufio.NewReaderSize(stream, maxLogLine); ; {
		line, _, err := in.ReadLine() // a longer line comes in parts
		if err == nil || errors.Is(err, io.EOF) && len(line) > 0 {
			lines := []string{string(line)}

			// What is there already goes with it: one message for a burst.
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

// wholeLine tells whether there is one that need not be waited for.
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
