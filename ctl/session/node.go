// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"github.com/seed-59268b81/talos/client"
)

// Node is a machine to work on. Calls of its client with the context that comes with it go to that machine.
type Node struct {
	*client.Client
	Name string
	// direct is set when the endpoint itself is the node, so that nothing is to be forwarded.
	direct bool
}

// Forward has calls with the context forwarded to the node.
func (n Node) Forward(ctx context.Context) context.Context {
	if n.direct {
		return ctx
	}

	return client.WithNode(ctx, n.Name)
}

// At is another machine that is reached in the same way.
func (n Node) At(name string) Node {
	return Node{Client: n.Client, Name: name, direct: n.direct && name == n.Name}
}
