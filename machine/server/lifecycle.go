// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
)

// What has no machinery in this version: each answer says what is missing, and what to do meanwhile.
var (
	errNoUpgrade = status.Error(codes.Unimplemented, "upgrade: this version has no second boot entry to install into; boot a machine from the new version's disk image and apply its configuration, or change Kubernetes' version alone by the machine configuration")
	errNoInstall = status.Error(codes.Unimplemented, "install: this version has no installer; write the disk image to the disk and boot from it")
	errNoReset   = status.Error(codes.Unimplemented, "reset: this version cannot wipe its own disk; shut the machine down (talosctl shutdown) and write the disk image to the disk anew")
	errNoRoll    = status.Error(codes.Unimplemented, "rollback: this version has no earlier boot entry to go back to; write the earlier version's disk image to the disk")
)

// Upgrade implements machine.MachineService.
func (*Server) Upgrade(context.Context, *machine.UpgradeRequest) (*machine.UpgradeResponse, error) {
	return nil, errNoUpgrade
}

// Rollback implements machine.MachineService.
func (*Server) Rollback(context.Context, *machine.RollbackRequest) (*machine.RollbackResponse, error) {
	return nil, errNoRoll
}

// Reset implements machine.MachineService.
func (*Server) Reset(context.Context, *machine.ResetRequest) (*machine.ResetResponse, error) {
	return nil, errNoReset
}

// lifecycleService is machine.LifecycleService; it has a method Upgrade of its own.
type lifecycleService struct {
	machine.UnimplementedLifecycleServiceServer
}

// Install implements machine.LifecycleService.
func (lifecycleService) Install(*machine.LifecycleServiceInstallRequest, grpc.ServerStreamingServer[machine.LifecycleServiceInstallResponse]) error {
	return errNoInstall
}

// Upgrade implements machine.LifecycleService.
func (lifecycleService) Upgrade(*machine.LifecycleServiceUpgradeRequest, grpc.ServerStreamingServer[machine.LifecycleServiceUpgradeResponse]) error {
	return errNoUpgrade
}
