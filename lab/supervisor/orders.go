// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/machine"
)

// healTime bounds the answers of virtual machines.
const healTime = 10 * time.Second

// Power presses a node's power button.
func (s *Supervisor) Power(ctx context.Context, name string, action control.Action) error {
	m, ok := s.nodes[name]
	if !ok {
		return s.unknown("node", name)
	}

	switch action {
	case control.On:
		return m.On(ctx)
	case control.Off:
		return m.Off(ctx)
	case control.Reset:
		return m.Reset(ctx)
	case control.Cut:
		m.Cut()

		return nil
	case control.Pause:
		return m.Pause(ctx)
	case control.Resume:
		return m.Resume(ctx)
	case control.Wipe:
		return m.Wipe(ctx)
	}

	return fmt.Errorf("unknown power action %q: want one of %v", action, control.Actions())
}

// SetCard plugs a node's card in, or unplugs it.
func (s *Supervisor) SetCard(ctx context.Context, name string, card int, unplugged bool) error {
	m, ok := s.nodes[name]
	if !ok {
		return s.unknown("node", name)
	}

	change, done := m.Plug, "plugged in"
	if unplugged {
		change, done = m.Unplug, "unplugged"
	}

	if err := change(ctx, card); err != nil {
		return err
	}

	s.log.Info("card "+done, "node", name, "card", card)

	s.mu.Lock()
	defer s.mu.Unlock()

	for i := range s.lab.Nodes {
		if s.lab.Nodes[i].Name == name {
			s.lab.Nodes[i].Cards[card].Unplugged = unplugged
		}
	}

	return s.lab.Save()
}

// SetDisk sets how the disks of a node behave.
func (s *Supervisor) SetDisk(ctx context.Context, name string, disk machine.Disk) error {
	m, ok := s.nodes[name]

	switch {
	case !ok:
		return s.unknown("node", name)
	case disk.Writes < 0:
		return fmt.Errorf("disks of %s: %d writes per second: want 1 or more, or 0 for no limit", name, disk.Writes)
	}

	s.log.Info("disks", "node", name, "writes", disk.Writes)

	return m.SetDisk(ctx, disk)
}

// healDisks makes the disks of all machines good ones. Those of a machine that is off are.
func (s *Supervisor) healDisks() (errs []error) {
	ctx, cancel := context.WithTimeout(s.done, healTime)
	defer cancel()

	for _, m := range s.nodes {
		if err := m.SetDisk(ctx, machine.Disk{}); !errors.Is(err, machine.ErrOff) {
			errs = append(errs, err)
		}
	}

	return errs
}

// Stop ends the lab.
func (s *Supervisor) Stop() {
	s.log.Info("stop requested")
	s.stop()
}

func (s *Supervisor) unknown(what, name string) error {
	return fmt.Errorf("lab %s has no %s %q: there is %s", s.lab.Name, what, name,
		strings.Join(s.lab.World.Names(s.lab.Machines()), ", "))
}
