// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs a lab: the switches, gateways, routers and machines, in one process. With one process, frames
// pass between switch and gateway quickly, and the whole lab ends at once.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/lab/container"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
	"github.com/seed-59268b81/talos/lab/router"
	"github.com/seed-59268b81/talos/lab/state"
)

// Supervisor is a running lab.
type Supervisor struct {
	log   *slog.Logger
	accel accel.Accel
	nodes map[string]machine.Machine
	// ids, cgroups and processes (the limit of a machine) are for containers; nil and 0 without them.
	ids       *container.IDs
	cgroups   *container.Cgroups
	processes int
	// done ends when the lab is stopped.
	done context.Context
	stop context.CancelFunc

	networks map[string]*network
	routers  map[string]*router.Router

	// mu guards lab and its file, and the settings of services and routers.
	mu    sync.Mutex
	lab   *state.Lab
	plugs sync.WaitGroup // streams of the machines' cards
}

// Run runs the lab in a directory until ctx ends or the lab is stopped. Ready, if not nil, is called when all machines
// are switched on and the control socket answers.
func Run(ctx context.Context, dir string, log *slog.Logger, ready func(*Supervisor)) (err error) {
	unlock, err := state.Lock(dir, "another supervisor runs, starts or ends the lab")
	if err != nil {
		return err
	}
	defer unlock()

	lab, err := state.Load(dir)
	if err != nil {
		return err
	}

	if lab.Condition() == state.Running {
		return fmt.Errorf("%s already, by process %d", lab.Explain(), lab.Supervisor.PID)
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()

	s := &Supervisor{
		lab: lab, log: log, done: ctx, stop: stop,
		nodes: map[string]machine.Machine{}, networks: map[string]*network{}, routers: map[string]*router.Router{},
	}
	defer func() { err = errors.Join(err, s.end()) }()

	if err := s.begin(ctx); err != nil {
		return err
	}

	l, err := control.Listen(lab.SocketPath())
	if err != nil {
		return err
	}

	server := &http.Server{Handler: control.Handler(s), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() {
		// The client that stopped the lab gets its answer first.
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})()

	status := s.Status()
	log.Info("lab is up", "name", lab.Name, "accel", status.Accel, "why", status.AccelWhy, "containers", status.Containers)

	if ready != nil {
		ready(s)
	}

	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the lab's control socket: %w", err)
	}

	return nil
}

// begin starts the networks and switches all machines on.
func (s *Supervisor) begin(ctx context.Context) error {
	self, err := state.Identify(os.Getpid())
	if err != nil {
		return err
	}

	if err := s.openWorld(); err != nil {
		return err
	}

	for i := range s.lab.Nodes {
		node := &s.lab.Nodes[i]
		if err := errors.Join(
			s.forward(node, &node.APIPort, contract.APIPort),
			s.forward(node, &node.KubernetesPort, contract.KubernetesPort),
		); err != nil {
			return err
		}
	}

	if err := s.balance(); err != nil {
		return err
	}

	s.lab.Supervisor = self
	if err := s.lab.Save(); err != nil {
		return err
	}

	if err := s.host(ctx); err != nil {
		return err
	}

	return s.powerOn(ctx)
}

// forward forwards a port of loopback to a node, the same one as before if it had one.
func (s *Supervisor) forward(node *state.Node, port *uint16, to uint16) error {
	l, err := listen(port)
	if err != nil {
		return fmt.Errorf("forward a port of loopback to %s:%d: %w; if another program uses the port, end that program", node.Name, to, err)
	}

	// The gateway is on the node's own network, so that no router is between them.
	s.networks[node.Cards[0].Network].gw.Forward(l, netip.AddrPortFrom(node.Addr, to))

	return nil
}

// listen opens a port of loopback, the same one as before if there was one.
func listen(port *uint16) (net.Listener, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), *port).String())
	if err != nil {
		return nil, err
	}

	*port = netip.MustParseAddrPort(l.Addr().String()).Port()

	return l, nil
}

// end cuts all power, stops the networks and records in the state that the lab is stopped.
func (s *Supervisor) end() error {
	var cut sync.WaitGroup
	for _, m := range s.nodes {
		cut.Go(m.Cut)
	}

	cut.Wait()
	s.stop()
	s.plugs.Wait()
	s.closeWorld()

	s.mu.Lock()
	defer s.mu.Unlock()

	if err := container.RemoveCgroups(s.lab.Cgroups...); err != nil {
		s.log.Error("cgroups left", "error", err)
	} else {
		s.lab.Cgroups = nil
	}

	s.lab.Supervisor = nil
	_ = os.Remove(s.lab.SocketPath())

	return s.lab.Save()
}
