// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

const (
	// questionAlive shows whether the node is alive.
	questionAlive = "version"
	// questionTypes is asked until it is answered.
	questionTypes = "types of resources"
)

// questions are asked once an interval.
var questions = map[string]question{
	questionAlive: ask(session.Node.Version, func(n *Node, v *machine.Version, _ time.Time) { n.Version = v.GetVersion() }),
	"load":        ask(session.Node.LoadAvg, func(n *Node, load *machine.LoadAvg, _ time.Time) { n.Load = load }),
	"memory":      ask(session.Node.Memory, func(n *Node, memory *machine.MemInfo, _ time.Time) { n.Memory = memory }),
	"CPU":         ask(session.Node.SystemStat, func(n *Node, stat *machine.SystemStat, _ time.Time) { n.setStat(stat) }),
	"services":    ask(session.Node.Services, func(n *Node, services []*machine.ServiceInfo, _ time.Time) { n.Services = services }),
	"processes": ask(session.Node.Processes, func(n *Node, processes []*machine.ProcessInfo, at time.Time) {
		n.setProcesses(processes, at.Sub(n.sampled))
		n.sampled = at
	}),
	questionTypes: ask(session.Node.Definitions, func(n *Node, types client.Definitions, _ time.Time) { n.Types = types }),
}

// question calls a node, and returns a function that stores the answer of a time.
type question func(ctx context.Context, t session.Node) (func(n *Node, at time.Time), error)

func ask[T any](call func(session.Node, context.Context) (T, error), take func(n *Node, answer T, at time.Time)) question {
	return func(ctx context.Context, t session.Node) (func(*Node, time.Time), error) {
		answer, err := call(t, ctx)

		return func(n *Node, at time.Time) { take(n, answer, at) }, err
	}
}
