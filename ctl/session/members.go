// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/client"
)

// Member is a machine of the cluster, as the other machines know it.
type Member struct {
	Name         string
	Hostname     string   `yaml:"hostname"`
	Type         string   `yaml:"machineType"`
	Addresses    []string `yaml:"addresses"`
	ControlPlane bool     `yaml:"-"`
}

// membersTime is how long a node may take to list the members.
const membersTime = 5 * time.Second

// Members returns the members of the cluster that a node knows: control planes first, in the order of their names. ctx is from Forward.
func (n Node) Members(ctx context.Context) ([]Member, error) {
	all, err := All(n.Resources(ctx, client.Kind{Namespace: "cluster", Type: "Members.cluster.talos.dev"}))
	if err != nil {
		return nil, err
	}

	members := make([]Member, 0, len(all))

	for _, r := range all {
		m, err := DecodeSpec[Member](r)
		if err != nil {
			return nil, err
		}

		m.Name, m.ControlPlane = r.GetMetadata().GetId(), m.Type == "controlplane" || m.Type == "init"
		members = append(members, m)
	}

	slices.SortFunc(members, func(a, b Member) int {
		if a.ControlPlane != b.ControlPlane {
			return map[bool]int{true: -1, false: 1}[a.ControlPlane]
		}

		return cmp.Compare(a.Name, b.Name)
	})

	return members, nil
}

// clusterTargets connects to the endpoint and returns all members of its cluster.
func (s *Session) clusterTargets() (nodes []Node, closeAll func(), err error) {
	if len(s.nodes) > 0 {
		return nil, nil, errors.New("--cluster means all members of the cluster: do not name --nodes")
	}

	context, err := s.Configured()
	if err != nil {
		return nil, nil, err
	}

	shared, err := client.Connect(context)
	if err != nil {
		return nil, nil, err
	}

	endpoint := Node{Client: shared, Name: strings.Join(context.Dial(), ", "), direct: true}

	members, err := endpoint.listMembers()
	if err != nil {
		shared.Close() // there is nothing to do about a failure

		return nil, nil, &NodeFailure{node: endpoint.Name, err: err}
	}

	for _, m := range members {
		nodes = append(nodes, Node{Client: shared, Name: m.Name})
	}

	return nodes, func() { shared.Close() }, nil
}

// listMembers returns the members, at least one.
func (n Node) listMembers() ([]Member, error) {
	ctx, cancel := context.WithTimeout(context.Background(), membersTime)
	defer cancel()

	members, err := n.Members(n.Forward(ctx))
	if err != nil {
		return nil, fmt.Errorf("list the members of the cluster: %w", err)
	}

	if len(members) == 0 {
		return nil, errors.New("it knows no members of the cluster: see talosctl get discoverysources, or name --nodes")
	}

	return members, nil
}

// TargetsOrCluster is Targets, but without nodes that are named it returns all members of the cluster, if the endpoint knows any.
func (s *Session) TargetsOrCluster() (nodes []Node, closeAll func(), err error) {
	if !s.insecure && !s.cluster {
		if context, err := s.Configured(); err == nil && len(context.Nodes) == 0 {
			if nodes, closeAll, err := s.clusterTargets(); err == nil {
				return nodes, closeAll, nil
			}
		}
	}

	return s.Targets()
}
