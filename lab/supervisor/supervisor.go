// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs a lab: the switch, the gateway and the machines are
// its own, in one process that ends when it is told to. One process, because
// the switch and the gateway are one fast path, and because a lab then lives
// and dies as a whole.
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
	"github.com/seed-59268b81/talos/lab/state"
)

// Supervisor is a running lab.
type Supervisor struct {
	log   *slog.Logger
	accel accel.Accel
	nodes map[string]machine.Machine
	// ids, cgroups and processes, the most of a machine, are the containers';
	// without containers, nil and 0.
	ids       *container.IDs
	cgroups   *container.Cgroups
	processes int
	// done ends when the lab is told to stop.
	done context.Context
	stop context.CancelFunc

	networks map[string]*network
	routers  map[string]*runningRouter

	// mu guards lab and its file, and how services and routers are set.
	mu    sync.Mutex
	lab   *state.Lab
	plugs sync.WaitGroup // streams of the machines' cards
}

// Run runs the lab in a directory until ctx ends or the lab is told to stop.
// Ready, if not nil, is called when all machines are switched on and the control
// socket answers.
func Run(ctx context.Context, dir string, log *slog.Logger, ready func()) (err error) {
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
		nodes: map[string]machine.Machine{}, networks: map[string]*network{}, routers: map[string]*runningRouter{},
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
		// A moment for the answer to the one who said stop.
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})()

	status := s.Status()
	log.Info("lab is up", "name", lab.Name, "accel", status.Accel, "why", status.AccelWhy, "containers", status.Containers)

	if ready != nil {
		ready()
	}

	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the lab's control socket: %w", err)
	}

	return nil
}

// begin brings up the network and switches all machines on.
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

	s.lab.Supervisor = self
	if err := s.lab.Save(); err != nil {
		return err
	}

	if err := s.host(ctx); err != nil {
		return err
	}

	return s.powerOn(ctx)
}

// forward opens a port of loopback for a node, the one it had before if any.
func (s *Supervisor) forward(node *state.Node, port *uint16, to uint16) error {
	l, err := net.Listen("tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), *port).String())
	if err != nil {
		return fmt.Errorf("forward a port of loopback to %s:%d: %w; if another program has it now, end that one", node.Name, to, err)
	}

	*port = netip.MustParseAddrPort(l.Addr().String()).Port()
	// The gateway is on the node's own network: this way crosses no router.
	s.networks[node.Cards[0].Network].gw.Forward(l, netip.AddrPortFrom(node.Addr, to))

	return nil
}

// end cuts all power, takes the network down and says in the state that the lab
// is stopped.
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
