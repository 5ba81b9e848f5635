// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/seed-59268b81/talos/lab/machine"
)

// Pause stops the machine's processors.
func (m *Machine) Pause(ctx context.Context) error { return m.processors(ctx, "pause", "stop", true) }

// Resume ends a pause.
func (m *Machine) Resume(ctx context.Context) error {
	return m.processors(ctx, "resume", "cont", false)
}

func (m *Machine) processors(ctx context.Context, op, command string, paused bool) error {
	if err := m.tell(ctx, op, command); err != nil {
		return err
	}

	m.tracker.Update(func(s *machine.Status) { s.Paused = paused })

	return nil
}

// Wipe creates the disks and the firmware's variables again.
func (m *Machine) Wipe(ctx context.Context) error {
	m.button.Lock()
	defer m.button.Unlock()

	if m.run.Load() != nil {
		return fmt.Errorf("wipe %s: %w", m.cfg.Name, machine.ErrOn)
	}

	if err := os.Remove(m.cfg.varsPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("wipe %s: %w", m.cfg.Name, err)
	}

	for _, d := range m.cfg.Disks {
		if err := CreateOverlay(ctx, d.Path, d.Base, d.GiB); err != nil {
			return fmt.Errorf("wipe %s: %w", m.cfg.Name, err)
		}
	}

	return nil
}
