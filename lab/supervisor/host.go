// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/seed-59268b81/talos/lab/container"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
	"github.com/seed-59268b81/talos/lab/state"
)

// host finds the accelerator, ids and cgroups of this computer for the machines.
func (s *Supervisor) host(ctx context.Context) (err error) {
	if s.lab.Uses(state.QEMU) {
		s.accel = accel.Choose(ctx, s.lab.Machine.QEMU)
	}

	if !s.lab.Uses(state.Container) {
		return nil
	}

	if s.ids, err = container.FindIDs(); err != nil {
		return err
	}

	if s.processes, err = container.HalfOfProcesses(); err != nil {
		return err
	}

	// Labs in different directories may have the same name.
	place := sha256.Sum256([]byte(s.lab.Dir))

	if s.cgroups, err = container.NewCgroups(s.lab.Name + "-" + hex.EncodeToString(place[:4])); err != nil {
		return err
	}

	// The cgroups of an earlier run may be in another session, and would be lost.
	if err := container.RemoveCgroups(s.lab.Cgroups...); err != nil {
		return err
	}

	s.lab.Cgroups = s.cgroups.Dirs()
	if err := s.lab.Save(); err != nil {
		return err
	}

	return s.cgroups.Create()
}

// containers describes how the containers run, and what they lack.
func (s *Supervisor) containers() string {
	if s.cgroups == nil {
		return ""
	}

	text := "this computer's kernel, as root"
	if os.Geteuid() != 0 {
		text = "this computer's kernel, in a user namespace"
	}

	if s.cgroups.V1() {
		text += "; cgroup v1, so no memory is reserved for the system"
	}

	return text
}
