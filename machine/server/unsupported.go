// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
)

var (
	errNoLVM = status.Error(codes.Unimplemented, "LVM: this version activates no volume groups; what is left of one on a disk goes with the disk's contents (talosctl wipe disk)")
)

// unsupported are the errors of calls that this version cannot carry out: what is missing, and what to do instead.
var unsupported = map[string]error{
	machine.LVMService_LogicalVolumeRemove_FullMethodName:  errNoLVM,
	machine.LVMService_VolumeGroupRemove_FullMethodName:    errNoLVM,
	machine.LVMService_PhysicalVolumeRemove_FullMethodName: errNoLVM,
	machine.MDService_Destroy_FullMethodName:               status.Error(codes.Unimplemented, "MD: this version assembles no arrays; what is left of one on a disk goes with the disk's contents (talosctl wipe disk)"),
	machine.ImageService_Verify_FullMethodName:             status.Error(codes.Unimplemented, "verify image: this version knows no ImageVerificationConfig to verify by; pin images by digest (NAME@sha256:…) instead"),
}
