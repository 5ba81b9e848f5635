// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"github.com/seed-59268b81/talos/client"
)

// Node is a machine to work on. Calls of its client must use a context from Forward. Each, InTurn and One pass such a context.
type Node struct {
	*client.Client
	Name string
	// direct is set when the endpoint itself is the node: its calls are not forwarded.
	direct bool
}

// Forward returns a context whose calls are forwarded to the node.
func (n Node) Forward(ctx context.Context) context.Context {
	if n.direct {
		return ctx
	}

	return client.WithNode(ctx, n.Name)
}

// At returns another machine that is reached through the same endpoint.
func (n Node) At(name string) Node {
	return Node{Client: n.Client, Name: name, direct: n.direct && name == n.Name}
}
