// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/lab/control"
)

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

// Stop ends the lab.
func (s *Supervisor) Stop() {
	s.log.Info("stop requested")
	s.stop()
}

func (s *Supervisor) unknown(what, name string) error {
	return fmt.Errorf("lab %s has no %s %q: there is %s", s.lab.Name, what, name,
		strings.Join(s.lab.World.Names(s.lab.Machines()), ", "))
}
