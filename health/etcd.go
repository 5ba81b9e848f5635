// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Member is a member of etcd, as one of the members lists it.
type Member struct {
	ID   uint64
	Name string
	// PeerURLs and ClientURLs as advertised.
	PeerURLs, ClientURLs []string
	Learner              bool
}

// Etcd lists the members that the member at the endpoint knows, without a request to others; an empty endpoint is this node's.
type Etcd interface {
	Members(ctx context.Context, endpoint string) ([]Member, error)
}

func (s *Source) etcdConsistent(ctx context.Context) error {
	own, err := s.Etcd.Members(ctx, "")
	if err != nil {
		return err
	}

	for _, m := range own {
		if len(m.ClientURLs) == 0 {
			return fmt.Errorf("etcd member %016x has not started yet", m.ID)
		}

		if m.Learner {
			return fmt.Errorf("etcd member %s is still a learner", m.Name)
		}

		theirs, err := s.Etcd.Members(ctx, m.ClientURLs[0])
		if err != nil {
			return fmt.Errorf("etcd member %s: %w", m.Name, err)
		}

		if got, want := names(theirs), names(own); got != want {
			return fmt.Errorf("etcd member %s knows the members %s, this node knows %s", m.Name, got, want)
		}
	}

	return nil
}

func names(members []Member) string {
	var out []string
	for _, m := range members {
		out = append(out, m.Name)
	}

	slices.Sort(out)

	return "[" + strings.Join(out, " ") + "]"
}

// etcdOnControlPlanes checks that each member is on a control plane node, and that each control plane node has a member.
func (s *Source) etcdOnControlPlanes(ctx context.Context) error {
	members, err := s.Etcd.Members(ctx, "")
	if err != nil {
		return err
	}

	nodes, err := s.controlPlanes(ctx)
	if err != nil {
		return err
	}

	var errs []error

	for _, m := range members {
		if !slices.ContainsFunc(nodes, func(n Node) bool { return m.at(n.Addresses) }) {
			errs = append(errs, fmt.Errorf("etcd member %s (%s) is not on a control plane node", m.Name, strings.Join(m.PeerURLs, " ")))
		}
	}

	for _, n := range nodes {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.at(n.Addresses) }) {
			errs = append(errs, fmt.Errorf("control plane node %s has no etcd member", n.Name))
		}
	}

	return errors.Join(errs...)
}

// at reports whether one of the member's peer URLs has one of the addresses.
func (m Member) at(addresses []string) bool {
	return slices.ContainsFunc(m.PeerURLs, func(text string) bool {
		u, err := url.Parse(text)

		return err == nil && slices.ContainsFunc(addresses, func(a string) bool { return sameHost(a, u.Hostname()) })
	})
}

func sameHost(a, b string) bool {
	left, errLeft := netip.ParseAddr(strings.Trim(a, "[]"))
	right, errRight := netip.ParseAddr(strings.Trim(b, "[]"))

	if errLeft != nil || errRight != nil {
		return strings.EqualFold(a, b)
	}

	return left.Unmap() == right.Unmap()
}
