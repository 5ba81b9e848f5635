// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
)

// mount requests STATE, and releases it when the machine goes down.
func (c *Controller) mount(ctx context.Context, rt controller.Runtime) error {
	target, err := volume.Request(ctx, rt, controllerName, requester, block.VolumeState, func(context.Context) error {
		c.store = nil

		return nil
	})
	if err != nil {
		return err
	}

	if target != "" {
		c.store = &store{fs: c.fs, dir: target}
	}

	return nil
}

// disk returns the state of STATE.
func (c *Controller) disk(ctx context.Context, rt controller.Runtime) (diskState, error) {
	var status block.VolumeStatusSpec

	f := typed.Read(ctx, rt, block.VolumeState, &status)

	switch {
	case f.Err != nil:
		return absent, f.Err
	case c.store != nil:
		return mounted, nil
	case status.Phase == block.VolumePhaseProvisioned:
		return blank, nil
	case status.Phase == block.VolumePhaseReady:
		return ready, nil
	case f.OK && status.Phase == block.VolumePhaseWaiting:
		return c.withoutSystem(ctx, rt)
	case f.OK && status.Phase == block.VolumePhaseFailed:
		return c.withoutChoice(ctx, rt, status.ErrorMessage)
	default:
		return absent, nil
	}
}

// withoutChoice returns ambiguous when STATE has failed because none of the disks with the system can be chosen, and absent while another may
// still appear, or if STATE has failed on a disk that was chosen.
func (c *Controller) withoutChoice(ctx context.Context, rt controller.Runtime, reason string) (diskState, error) {
	disk, err := c.withoutSystem(ctx, rt)
	if disk == none {
		disk, c.state.unusable = ambiguous, errors.New(reason)
	}

	return disk, err
}
