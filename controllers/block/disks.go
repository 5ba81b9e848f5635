// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
)

// DisksController publishes what identifies each disk.
func DisksController(sys string) controller.Controller {
	return transform.Map[block.DeviceSpec, block.DiskSpec]{
		Name: "block.DisksController",
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[block.DeviceSpec], out *block.DiskSpec) error {
			device := in.TypedSpec()
			if device.Type != block.DeviceTypeDisk {
				return transform.ErrNoOutput
			}

			id, err := disk.Identify(sys, in.Metadata().ID())
			if err != nil {
				return err
			}

			*out = block.DiskSpec{
				Size: id.Size, PrettySize: block.PrettySize(id.Size), IOSize: uint(id.IOSize), SectorSize: uint(id.SectorSize),
				Readonly: id.ReadOnly, Rotational: id.Rotational, CDROM: id.CDROM,
				Model: id.Model, Serial: id.Serial, WWID: id.WWID, UUID: id.UUID, FirmwareVersion: id.Firmware,
				Modalias: id.Modalias, BusPath: id.BusPath, SubSystem: id.SubSystem, Transport: id.Transport,
				DevPath: device.DevicePath, SecondaryDisks: device.Secondaries,
			}

			return nil
		},
	}.Controller()
}
