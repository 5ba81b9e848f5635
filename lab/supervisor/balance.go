// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/lab/balance"
	"github.com/seed-59268b81/talos/lab/state"
)

// balance starts the load balancer of a lab with several control planes: on a port of loopback, for users, and on the gateway of the control
// planes' network, for the machines.
func (s *Supervisor) balance() error {
	if !s.lab.Balanced() {
		return nil
	}

	var targets []balance.Target

	for i := range s.lab.Nodes {
		node := &s.lab.Nodes[i]
		if node.Role != state.ControlPlane {
			continue
		}

		gw := s.networks[node.Cards[0].Network].gw
		to := netip.AddrPortFrom(node.Addr, contract.KubernetesPort)

		targets = append(targets, balance.Target{Name: node.Name, Dial: func(ctx context.Context) (net.Conn, error) { return gw.Dial(ctx, to) }})
	}

	l, err := listen(&s.lab.KubernetesPort)
	if err != nil {
		return fmt.Errorf("forward a port of loopback to Kubernetes: %w; if another program uses the port, end that program", err)
	}

	inside, err := s.networks[s.lab.Nodes[0].Cards[0].Network].gw.Listen(contract.KubernetesPort)
	if err != nil {
		_ = l.Close()

		return fmt.Errorf("load balancer of Kubernetes: %w", err)
	}

	b := balance.New(s.log, targets...)

	s.plugs.Go(func() { b.Check(s.done) })

	for _, l := range append(inside, l) {
		s.plugs.Go(func() { b.Serve(s.done, l) })
	}

	return nil
}
