// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
)

// Node of Kubernetes.
type Node struct {
	Name          string
	Addresses     []string
	ControlPlane  bool
	Ready         bool
	Reason        string // why it is not ready
	Unschedulable bool
}

// Pod of Kubernetes.
type Pod struct {
	Name  string
	Node  string
	Phase string
	Ready bool
}

// Workload is a DaemonSet or Deployment: the number of pods that it wants, and of those that are ready.
type Workload struct{ Wanted, Ready int }

// Kubernetes is the part of its API that the checks use.
type Kubernetes interface {
	Nodes(ctx context.Context) ([]Node, error)
	// Pods of the namespace kube-system with the label k8s-app=NAME.
	Pods(ctx context.Context, app string) ([]Pod, error)
	// Workload of the namespace kube-system, by its plural kind and name; nil if it does not exist.
	Workload(ctx context.Context, kind, name string) (*Workload, error)
}

// components are the static pods of each control plane node, by their k8s-app labels.
var components = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// controlPlanes returns the nodes that the caller named, or those that Kubernetes knows.
func (s *Source) controlPlanes(ctx context.Context) ([]Node, error) {
	if len(s.ControlPlaneNodes) > 0 {
		var nodes []Node
		for _, address := range s.ControlPlaneNodes {
			nodes = append(nodes, Node{Name: address, Addresses: []string{address}})
		}

		return nodes, nil
	}

	nodes, err := s.Kubernetes.Nodes(ctx)
	if err != nil {
		return nil, err
	}

	nodes = slices.DeleteFunc(nodes, func(n Node) bool { return !n.ControlPlane })
	if len(nodes) == 0 {
		return nil, errors.New("Kubernetes knows no control plane node yet")
	}

	return nodes, nil
}

// nodesReported checks that every machine has a Node, and that every address that the caller named, or that a member of the cluster has, is a
// Node's.
func (s *Source) nodesReported(ctx context.Context) error {
	nodes, err := s.Kubernetes.Nodes(ctx)
	if err != nil {
		return err
	}

	var missing []string

	for _, m := range s.Machines {
		own, err := m.nodename(ctx)
		if err != nil {
			return err
		}

		if !slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == own }) {
			missing = append(missing, own)
		}
	}

	expected, err := s.expected(ctx)
	if err != nil {
		return err
	}

	for _, address := range expected {
		if !slices.ContainsFunc(nodes, func(n Node) bool {
			return slices.ContainsFunc(n.Addresses, func(a string) bool { return sameHost(a, address) })
		}) {
			missing = append(missing, address)
		}
	}

	if len(missing) > 0 {
		return fmt.Errorf("missing nodes: %s", strings.Join(missing, ", "))
	}

	return nil
}

func (s *Source) nodesReady(ctx context.Context) error {
	return s.everyNode(ctx, func(n Node) error {
		if !n.Ready {
			return fmt.Errorf("node %s is not ready: %s", n.Name, n.Reason)
		}

		return nil
	})
}

func (s *Source) nodesSchedulable(ctx context.Context) error {
	return s.everyNode(ctx, func(n Node) error {
		if n.Unschedulable {
			return fmt.Errorf("node %s is cordoned", n.Name)
		}

		return nil
	})
}

func (s *Source) everyNode(ctx context.Context, check func(Node) error) error {
	nodes, err := s.Kubernetes.Nodes(ctx)
	if err != nil {
		return err
	}

	if len(nodes) == 0 {
		return errors.New("Kubernetes has no nodes yet")
	}

	var errs []error
	for _, n := range nodes {
		errs = append(errs, check(n))
	}

	return errors.Join(errs...)
}

// componentsReady checks that each component is ready on each control plane node.
func (s *Source) componentsReady(ctx context.Context) error {
	nodes, err := s.Kubernetes.Nodes(ctx)
	if err != nil {
		return err
	}

	var errs []error

	for _, app := range components {
		pods, err := s.Kubernetes.Pods(ctx, app)
		if err != nil {
			return err
		}

		for _, n := range nodes {
			if !n.ControlPlane {
				continue
			}

			i := slices.IndexFunc(pods, func(p Pod) bool { return p.Node == n.Name })

			switch {
			case i < 0:
				errs = append(errs, fmt.Errorf("node %s has no pod of %s", n.Name, app))
			case !pods[i].Ready:
				errs = append(errs, fmt.Errorf("pod %s is not ready (%s)", pods[i].Name, pods[i].Phase))
			}
		}
	}

	return errors.Join(errs...)
}

// workload returns a check that all pods of a workload are ready. It is skipped when the configuration disables the workload.
func (s *Source) workload(kind, name string, disabled func(*view.Config) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		config, err := s.config(ctx)
		if err != nil {
			return err
		}

		if disabled(config) {
			return ErrSkip
		}

		w, err := s.Kubernetes.Workload(ctx, kind, name)

		switch {
		case err != nil:
			return err
		case w == nil:
			return fmt.Errorf("%s is not deployed yet", name)
		case w.Wanted == 0 || w.Ready < w.Wanted:
			return fmt.Errorf("%s: %d of %d pods are ready", name, w.Ready, w.Wanted)
		default:
			return nil
		}
	}
}
