// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"

	"github.com/seed-59268b81/talos/client"
)

// Targets connects and returns the nodes to work on.
func (s *Session) Targets() (nodes []Node, closeAll func(), err error) {
	if s.insecure {
		if s.cluster {
			return nil, nil, errors.New("--insecure works on the machine itself, which knows no cluster: do not use --cluster")
		}

		return s.insecureTargets()
	}

	if s.cluster {
		return s.clusterTargets()
	}

	if len(s.fingerprints) > 0 {
		return nil, nil, errors.New("--cert-fingerprint goes with --insecure only")
	}

	context, err := s.Configured()
	if err != nil {
		return nil, nil, err
	}

	if len(context.Nodes) == 0 && len(context.Dial()) > 1 {
		return nil, nil, errors.New("the client configuration has several endpoints and no nodes: name them with --nodes")
	}

	shared, err := client.Connect(context)
	if err != nil {
		return nil, nil, err
	}

	for _, name := range context.Nodes {
		nodes = append(nodes, Node{Client: shared, Name: name})
	}

	if len(nodes) == 0 {
		nodes = []Node{{Client: shared, Name: context.Dial()[0], direct: true}}
	}

	return nodes, func() { shared.Close() }, nil // there is nothing to do about a failure
}

// Maintenance returns a session with one machine in maintenance, without a client configuration.
func Maintenance(name string) *Session { return &Session{insecure: true, nodes: []string{name}} }

// insecureTargets connects to each node directly: a machine in maintenance does not forward calls.
func (s *Session) insecureTargets() (nodes []Node, closeAll func(), err error) {
	names := s.nodes
	if len(names) == 0 {
		names = s.endpoints
	}

	if len(names) == 0 {
		return nil, nil, errors.New("--insecure works on the machine itself: name its address with --nodes")
	}

	closeAll = func() {
		for _, n := range nodes {
			n.Close() // there is nothing to do about a failure
		}
	}

	options := []client.Option{client.WithInsecure(s.fingerprints...)}

	if crt, key, ok := s.identity(); ok {
		options = append(options, client.WithIdentity(crt, key))
	}

	for _, name := range names {
		direct, err := client.New([]string{name}, options...)
		if err != nil {
			closeAll()

			return nil, nil, err
		}

		nodes = append(nodes, Node{Client: direct, Name: name, direct: true})
	}

	return nodes, closeAll, nil
}
