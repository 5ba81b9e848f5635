// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"

	"github.com/seed-59268b81/talos/lab/container"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

func (s *Supervisor) powerOn(ctx context.Context) error {
	for i := range s.lab.Nodes {
		node := &s.lab.Nodes[i]
		s.nodes[node.Name] = s.machine(ctx, node)
	}

	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)

	for i := range s.lab.Nodes {
		if s.lab.Nodes[i].Off {
			continue
		}

		m := s.nodes[s.lab.Nodes[i].Name]

		all.Go(func() {
			if err := m.On(ctx); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}

	all.Wait()

	return errors.Join(errs...)
}

// machine returns the machine of a node, of its provisioner.
func (s *Supervisor) machine(ctx context.Context, node *state.Node) machine.Machine {
	if node.As() == state.Container {
		return s.container(ctx, node)
	}

	return s.virtual(ctx, node)
}

// container returns a machine that runs as a container.
func (s *Supervisor) container(ctx context.Context, node *state.Node) machine.Machine {
	return container.New(container.Config{
		Name: node.Name, Dir: s.lab.NodeDir(node.Name), Root: s.lab.Machine.RootDir, ImageCache: s.lab.Machine.Cache,
		Cards: cards(node), IDs: s.ids, Cgroup: s.cgroups.Machine(node.Name),
		Env:    userDataEnv(s.userData(node)),
		Limits: container.Limits{MemoryMiB: node.MemoryMiB, CPUs: node.CPUs, Processes: s.processes},
	}, s.plugTap(ctx, node), s.record(node), s.log)
}

// virtual returns a virtual machine.
func (s *Supervisor) virtual(ctx context.Context, node *state.Node) machine.Machine {
	common := s.lab.Machine
	cfg := qemu.Config{
		Name: node.Name, UUID: node.UUID, Serial: s.serial(node), Dir: s.lab.NodeDir(node.Name), Binary: common.QEMU, Accel: s.accel,
		CPUs: node.CPUs, MemoryMiB: node.MemoryMiB, Firmware: common.Firmware, Cards: cards(node),
		Kernel: common.Kernel, Initrd: common.Initrd, Cmdline: common.Cmdline,
	}

	if _, err := os.Stat(s.lab.DiskPath(node.Name)); err == nil {
		cfg.Disks = []qemu.Disk{{Path: s.lab.DiskPath(node.Name), Format: "qcow2", Base: s.lab.DiskBase(), GiB: node.DiskGiB}}
		if common.Record {
			cfg.Disks[0].Log = s.lab.DiskLogPath(node.Name)
		}
	}

	for i, size := range node.ExtraDisksGiB {
		cfg.Disks = append(cfg.Disks, qemu.Disk{Path: s.lab.ExtraDiskPath(node.Name, i), Format: "qcow2", GiB: size})
	}

	if common.CD {
		cfg.CD = s.lab.BasePath()
	}

	return qemu.New(cfg, s.plug(ctx, node), s.record(node), s.log)
}

func cards(node *state.Node) []machine.Card {
	var cards []machine.Card
	for _, card := range node.Cards {
		cards = append(cards, machine.Card{MAC: card.HardwareAddr(), Unplugged: card.Unplugged})
	}

	return cards
}

// plug returns a function that connects the network cards of a virtual machine.
func (s *Supervisor) plug(ctx context.Context, node *state.Node) func(int, net.Conn) {
	return func(card int, conn net.Conn) {
		s.serve(node, card, func(sw *netswitch.Switch, port string) error { return sw.ServeStream(ctx, port, conn) })
	}
}

// plugTap returns a function that connects the network cards of a container.
func (s *Supervisor) plugTap(ctx context.Context, node *state.Node) func(int, io.ReadWriteCloser) {
	return func(card int, frames io.ReadWriteCloser) {
		s.serve(node, card, func(sw *netswitch.Switch, port string) error { return sw.ServePackets(ctx, port, frames) })
	}
}

// serve connects a card to its network.
func (s *Supervisor) serve(node *state.Node, card int, serve func(sw *netswitch.Switch, port string) error) {
	sw, port := s.networks[node.Cards[card].Network].sw, world.CardPort(node.Name, card)

	s.plugs.Go(func() {
		if err := serve(sw, port); err != nil {
			s.log.Warn("link lost", "card", port, "error", err)
		}
	})
}

// record returns a function that saves a node's process in the state file.
func (s *Supervisor) record(node *state.Node) func(machine.Status) {
	return func(status machine.Status) {
		s.mu.Lock()
		defer s.mu.Unlock()

		node.Process = nil
		if status.PID != 0 {
			// A process that has ended needs no entry.
			node.Process, _ = state.Identify(status.PID)
		}

		if err := s.lab.Save(); err != nil {
			s.log.Error("state not saved", "error", err)
		}
	}
}
