// SPDX-License-Identifier: Apache-2.0

// Package block has the controllers of disks and volumes. Data flows one way:
//
//	kernel → BlockDevices → Disks, DiscoveredVolumes → SystemDisks
//	VolumeConfigs + DiscoveredVolumes → VolumeStatuses (VolumeManagerController: find, make, format, grow)
//	VolumeMountRequests + VolumeStatuses → MountStatuses, VolumeMountStatuses (MountController)
//
// What to do with a disk is planned by a pure function of resources (plan.go). An action looks at the disk once more
// before it writes, and does nothing when its work is done already; so an old picture of the disk is harmless, and so
// is a power cut between any two steps: the next boot plans from what is there.
//
// After an action the kernel is asked to announce a change of the device. That event, not a poll, brings the new
// contents back as resources.
//
// The reference has three controllers between a VolumeMountRequest and its VolumeMountStatus; one does it here.
package block
