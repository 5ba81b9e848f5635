// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// The system assembles neither volume groups nor arrays, so it has none to take apart.
var (
	errNoLVM = status.Error(codes.Unimplemented, "LVM: this version activates no volume groups; what is left of one on a disk goes with the disk's contents (talosctl wipe disk)")
	errNoMD  = status.Error(codes.Unimplemented, "MD: this version assembles no arrays; what is left of one on a disk goes with the disk's contents (talosctl wipe disk)")
)

type lvmService struct {
	machine.UnimplementedLVMServiceServer
}

// LogicalVolumeRemove implements machine.LVMService.
func (lvmService) LogicalVolumeRemove(context.Context, *machine.LVMServiceLogicalVolumeRemoveRequest) (*emptypb.Empty, error) {
	return nil, errNoLVM
}

// VolumeGroupRemove implements machine.LVMService.
func (lvmService) VolumeGroupRemove(context.Context, *machine.LVMServiceVolumeGroupRemoveRequest) (*emptypb.Empty, error) {
	return nil, errNoLVM
}

// PhysicalVolumeRemove implements machine.LVMService.
func (lvmService) PhysicalVolumeRemove(context.Context, *machine.LVMServicePhysicalVolumeRemoveRequest) (*emptypb.Empty, error) {
	return nil, errNoLVM
}

type mdService struct {
	machine.UnimplementedMDServiceServer
}

// Destroy implements machine.MDService.
func (mdService) Destroy(context.Context, *machine.MDDestroyRequest) (*emptypb.Empty, error) {
	return nil, errNoMD
}
