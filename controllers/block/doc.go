// SPDX-License-Identifier: Apache-2.0

// Package block has the controllers of disks and volumes. Data flows one way:
//
//	kernel → BlockDevices → Disks, DiscoveredVolumes → SystemDisks
//	VolumeConfigs + DiscoveredVolumes → VolumeStatuses (VolumeManagerController: find, make, format, grow)
//	VolumeMountRequests + VolumeStatuses → MountStatuses, VolumeMountStatuses (MountController)
//
// A pure function of resources plans what to do with a disk (plan.go). An action reads the disk again before it writes, and does
// nothing when its work is already done. So stale resources are harmless, and so is a power cut between any two steps: the next boot
// plans from what is on the disk.
//
// After an action the kernel is asked to announce a change of the device. That event, not a poll, updates the resources.
package block
