// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/storage"
)

// Disks lists the node's disks. The Disks resources have more details.
func (c *Client) Disks(ctx context.Context) ([]*storage.Disk, error) {
	return field(ctx, "list disks", c.Storage.Disks, &emptypb.Empty{}, (*storage.Disks).GetDisks)
}

// WipeDevices wipes block devices that nothing uses.
func (c *Client) WipeDevices(ctx context.Context, devices ...*storage.BlockDeviceWipeDescriptor) error {
	return run(ctx, "wipe", c.Storage.BlockDeviceWipe, &storage.BlockDeviceWipeRequest{Devices: devices})
}

// RemoveLogicalVolume removes a logical volume of LVM.
func (c *Client) RemoveLogicalVolume(ctx context.Context, group, volume string) error {
	_, err := c.LVM.LogicalVolumeRemove(ctx, &machine.LVMServiceLogicalVolumeRemoveRequest{VolumeGroup: group, LogicalVolume: volume})

	return named("remove logical volume "+group+"/"+volume, err)
}

// RemoveVolumeGroup removes a volume group of LVM with its logical volumes.
func (c *Client) RemoveVolumeGroup(ctx context.Context, group string) error {
	_, err := c.LVM.VolumeGroupRemove(ctx, &machine.LVMServiceVolumeGroupRemoveRequest{VolumeGroup: group})

	return named("remove volume group "+group, err)
}

// RemovePhysicalVolume removes LVM's data from a device.
func (c *Client) RemovePhysicalVolume(ctx context.Context, device string) error {
	_, err := c.LVM.PhysicalVolumeRemove(ctx, &machine.LVMServicePhysicalVolumeRemoveRequest{Device: device})

	return named("remove physical volume "+device, err)
}

// DestroyArray stops a RAID array and removes its data from its devices.
func (c *Client) DestroyArray(ctx context.Context, device string) error {
	_, err := c.MD.Destroy(ctx, &machine.MDDestroyRequest{Device: device})

	return named("destroy array "+device, err)
}

// WriteMeta sets a tag of the META partition.
func (c *Client) WriteMeta(ctx context.Context, key uint8, value []byte) error {
	return run(ctx, "write META", c.Machine.MetaWrite, &machine.MetaWriteRequest{Key: uint32(key), Value: value})
}

// DeleteMeta removes a tag of the META partition.
func (c *Client) DeleteMeta(ctx context.Context, key uint8) error {
	return run(ctx, "delete META", c.Machine.MetaDelete, &machine.MetaDeleteRequest{Key: uint32(key)})
}
