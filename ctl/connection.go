// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
)

// connection holds the flags that say which machines a command talks to, how, and in which form it prints the answers. All
// commands have the same one: a run of the program is one command.
type connection struct {
	talosconfig  string
	context      string
	endpoints    []string
	nodes        []string
	insecure     bool
	fingerprints []string
	format       string

	// CompletionTimeout is how long a shell waits for the words to offer: 2 seconds if it is not set.
	CompletionTimeout time.Duration
}

// flags adds the flags of every command that talks to machines.
func (c *connection) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.talosconfig, "talosconfig", "", "path of the client configuration (default $TALOSCONFIG, or ~/.talos/config)")
	flags.StringVar(&c.context, "context", "", "context of the client configuration to use")
	flags.StringSliceVarP(&c.endpoints, "endpoints", "e", nil, "endpoints to connect to, instead of the configured ones")
	flags.StringSliceVarP(&c.nodes, "nodes", "n", nil, "nodes to work on, instead of the configured ones")
	c.completeFlags(cmd)
}

// maintenanceFlags adds the flags of the commands that work on a machine in maintenance.
func (c *connection) maintenanceFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&c.insecure, "insecure", "i", false, "talk to a machine in maintenance, whose certificate cannot be verified")
	flags.StringSliceVar(&c.fingerprints, "cert-fingerprint", nil, "with --insecure: accept these fingerprints of the machine's certificate only")
}

// node is a machine to work on. Calls of its client with the context that comes with it go to that machine.
type node struct {
	*client.Client
	name string
	// direct is set when the endpoint itself is the node, so that nothing is to be forwarded.
	direct bool
}

// targets opens the connection and returns the nodes to work on.
func (c *connection) targets() (nodes []node, closeAll func(), err error) {
	if c.insecure {
		return c.insecureTargets()
	}

	if len(c.fingerprints) > 0 {
		return nil, nil, errors.New("--cert-fingerprint goes with --insecure only")
	}

	context, err := c.configured()
	if err != nil {
		return nil, nil, err
	}

	if len(context.Nodes) == 0 && len(context.Dial()) > 1 {
		return nil, nil, errors.New("the client configuration has several endpoints and no nodes: say which to work on with --nodes")
	}

	shared, err := client.Connect(context)
	if err != nil {
		return nil, nil, err
	}

	for _, name := range context.Nodes {
		nodes = append(nodes, node{Client: shared, name: name})
	}

	if len(nodes) == 0 {
		nodes = []node{{Client: shared, name: context.Dial()[0], direct: true}}
	}

	return nodes, func() { shared.Close() }, nil // nothing is left to do on it
}

// maintenance is a connection to one machine in maintenance, without a client configuration.
func maintenance(name string) *connection { return &connection{insecure: true, nodes: []string{name}} }

// insecureTargets are connected to one by one: a machine in maintenance forwards nothing.
func (c *connection) insecureTargets() (nodes []node, closeAll func(), err error) {
	names := c.nodes
	if len(names) == 0 {
		names = c.endpoints
	}

	if len(names) == 0 {
		return nil, nil, errors.New("--insecure works on the machine itself: name its address with --nodes")
	}

	closeAll = func() {
		for _, n := range nodes {
			n.Close() // nothing is left to do on it
		}
	}

	options := []client.Option{client.WithInsecure(c.fingerprints...)}

	if crt, key, ok := c.identity(); ok {
		options = append(options, client.WithIdentity(crt, key))
	}

	for _, name := range names {
		direct, err := client.New([]string{name}, options...)
		if err != nil {
			closeAll()

			return nil, nil, err
		}

		nodes = append(nodes, node{Client: direct, name: name, direct: true})
	}

	return nodes, closeAll, nil
}

// each runs do for every node at once. The error holds the failures of all nodes.
func (c *connection) each(cmd *cobra.Command, do func(ctx context.Context, n node) error) error {
	nodes, closeAll, err := c.targets()
	if err != nil {
		return err
	}

	defer closeAll()

	return atOnce(cmd.Context(), nodes, do)
}

// tabulate is each for commands that print a table, whose rows wait a moment for those of the other nodes.
func (c *connection) tabulate(cmd *cobra.Command, t *table, do func(ctx context.Context, n node) error) error {
	nodes, closeAll, err := c.targets()
	if err != nil {
		return err
	}

	defer closeAll()

	t.expect(nodes)

	return atOnce(cmd.Context(), nodes, func(ctx context.Context, n node) error {
		err := do(ctx, n)
		if printed := t.answered(n); err == nil {
			err = printed
		}

		return err
	})
}

func atOnce(ctx context.Context, nodes []node, do func(ctx context.Context, n node) error) error {
	failures := make([]error, len(nodes))

	var wg sync.WaitGroup

	for i, n := range nodes {
		wg.Go(func() {
			if err := do(n.towards(ctx), n); err != nil {
				failures[i] = &nodeFailure{node: n.name, err: err}
			}
		})
	}

	wg.Wait()

	return errors.Join(slices.DeleteFunc(failures, func(err error) bool { return err == nil })...)
}

// inTurn is each for commands that work on one node after the other.
func (c *connection) inTurn(cmd *cobra.Command, do func(ctx context.Context, n node) error) error {
	nodes, closeAll, err := c.targets()
	if err != nil {
		return err
	}

	defer closeAll()

	var failures []error

	for _, n := range nodes {
		if err := do(n.towards(cmd.Context()), n); err != nil {
			failures = append(failures, &nodeFailure{node: n.name, err: err})
		}
	}

	return errors.Join(failures...)
}

// one is each for commands that make sense for one node only.
func (c *connection) one(cmd *cobra.Command, do func(ctx context.Context, n node) error) error {
	nodes, closeAll, err := c.targets()
	if err != nil {
		return err
	}

	defer closeAll()

	if len(nodes) > 1 {
		return usageError(cmd, "%s works on one node, and there are %d: name one with --nodes", cmd.CommandPath(), len(nodes))
	}

	if err := do(nodes[0].towards(cmd.Context()), nodes[0]); err != nil {
		return &nodeFailure{node: nodes[0].name, err: err}
	}

	return nil
}

// towards has calls with the context forwarded to the node.
func (n node) towards(ctx context.Context) context.Context {
	if n.direct {
		return ctx
	}

	return client.WithNode(ctx, n.name)
}
