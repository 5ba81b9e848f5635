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

// Ready returns an error that names the wanted nodes, by internal address, that are not ready: together those for the same reason.
func (l *Nodes) Ready(wanted []string) error {
	var (
		reasons []string
		names   = map[string][]string{}
	)

	for _, address := range wanted {
		name, reason := address, "not registered"

		if node := l.at(address); node != nil {
			name, reason = node.Metadata.Name, node.unready()
		}

		if reason == "" {
			continue
		}

		if names[reason] == nil {
			reasons = append(reasons, reason)
		}

		names[reason] = append(names[reason], name)
	}

	for i, reason := range reasons {
		if one := names[reason]; len(one) == 1 {
			reasons[i] = "node " + one[0] + " is " + reason
		} else {
			reasons[i] = "nodes " + strings.Join(one, ", ") + " are " + reason
		}
	}

	if len(reasons) > 0 {
		return errors.New(strings.Join(reasons, "; "))
	}

	return nil
}

// at returns the node with an internal address, or nil.
func (l *Nodes) at(address string) *Node {
	for i, node := range l.Items {
		for _, a := range node.Status.Addresses {
			if a.Type == "InternalIP" && a.Address == address {
				return &l.Items[i]
			}
		}
	}

	return nil
}

// Ready returns why the node is not ready.
func (n *Node) Ready() error {
	if reason := n.unready(); reason != "" {
		return fmt.Errorf("node %s is %s", n.Metadata.Name, reason)
	}

	return nil
}

// unready returns what the node is instead of ready, or "".
func (n *Node) unready() string {
	for _, condition := range n.Status.Conditions {
		switch {
		case condition.Type != "Ready":
		case condition.Status == "True":
			return ""
		default:
			return "not ready: " + condition.Message
		}
	}

	return "without the condition Ready"
}
