// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Nodes is a list of nodes.
type Nodes struct{ Items []Node }

// Node is the part of a node that is read. The API's names of fields differ only in their case.
type Node struct {
	Metadata struct{ Name string }
	Spec     struct{ Unschedulable bool }
	Status   struct {
		Addresses  []struct{ Type, Address string }
		Conditions []struct{ Type, Status, Message string }
		NodeInfo   struct{ BootID string }
	}
}

// Nodes lists the nodes.
func (c *Client) Nodes(ctx context.Context) (*Nodes, error) {
	var nodes Nodes

	if err := c.do(ctx, http.MethodGet, "/api/v1/nodes", "", nil, &nodes); err != nil {
		return nil, fmt.Errorf("list Kubernetes nodes: %w", brief(err))
	}

	return &nodes, nil
}

func nodePath(name string) string { return "/api/v1/nodes/" + url.PathEscape(name) }

// Node reads one node.
func (c *Client) Node(ctx context.Context, name string) (*Node, error) {
	var node Node

	if err := c.do(ctx, http.MethodGet, nodePath(name), "", nil, &node); err != nil {
		return nil, fmt.Errorf("Kubernetes node %s: %w", name, brief(err))
	}

	return &node, nil
}

// SetSchedulable allows pods to be scheduled to the node, or forbids it (cordons the node).
func (c *Client) SetSchedulable(ctx context.Context, name string, schedulable bool) error {
	patch := Object{"spec": Object{"unschedulable": !schedulable}}

	if err := c.Merge(ctx, nodePath(name), patch); err != nil {
		return fmt.Errorf("Kubernetes node %s: %w", name, brief(err))
	}

	return nil
}

// Ready returns an error that names the wanted nodes, by internal address, that are not ready.
func (l *Nodes) Ready(wanted []string) error {
	var missing []string

	for _, address := range wanted {
		if err := l.ready(address); err != nil {
			missing = append(missing, err.Error())
		}
	}

	if len(missing) > 0 {
		return errors.New(strings.Join(missing, "; "))
	}

	return nil
}

func (l *Nodes) ready(address string) error {
	for i, node := range l.Items {
		for _, a := range node.Status.Addresses {
			if a.Type == "InternalIP" && a.Address == address {
				return l.Items[i].Ready()
			}
		}
	}

	return fmt.Errorf("node %s is not registered", address)
}

// Ready returns why the node is not ready.
func (n *Node) Ready() error {
	for _, condition := range n.Status.Conditions {
		switch {
		case condition.Type != "Ready":
		case condition.Status == "True":
			return nil
		default:
			return fmt.Errorf("node %s is not ready: %s", n.Metadata.Name, condition.Message)
		}
	}

	return fmt.Errorf("node %s has no condition Ready", n.Metadata.Name)
}
