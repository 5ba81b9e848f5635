// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Installer installs the system of a machine that is on no disk.
type Installer interface {
	// InstallTo installs the release of an image to a disk, and calls say with each step. Without an image the release is that of the medium
	// from which the machine was started. It changes nothing if the machine is on a disk, or the disk is not empty.
	InstallTo(ctx context.Context, cfg *view.Config, disk, image string, say func(string)) error
}

// noDiskToInstall is the answer in a container.
const noDiskToInstall = "install: a container has no disks of its own; see: talosctl get platformconditions"

// Install implements machine.LifecycleService for a machine that is on no disk, whose configuration did not install it: as machine.install
// does, from the medium or from the image's registry. Containerd has no images there. The machine is not restarted.
func (l lifecycleService) Install(req *machine.LifecycleServiceInstallRequest, stream grpc.ServerStreamingServer[machine.LifecycleServiceInstallResponse]) error {
	s, ctx := l.server, stream.Context()
	disk := req.GetDestination().GetDisk()

	switch {
	case !s.Platform.Owns(platform.Disks):
		return status.Error(codes.FailedPrecondition, noDiskToInstall)
	case s.Installer == nil:
		return status.Error(codes.Unavailable, "install: the machine is still starting: try again")
	case disk == "":
		return status.Error(codes.InvalidArgument, "install: name the disk, such as /dev/sda: see talosctl get disks")
	}

	cfg, err := s.registries(ctx)
	if err != nil {
		return failed("install", err)
	}

	send := func(p *machine.LifecycleServiceInstallProgress) error {
		return stream.Send(&machine.LifecycleServiceInstallResponse{Progress: p})
	}

	s.Log.Info("install: to " + disk + caller(ctx))

	if err := s.Installer.InstallTo(ctx, cfg, disk, req.GetSource().GetImageName(), func(text string) {
		s.Log.Info("install: " + text)
		// If the caller has disconnected, the context ends the installation, and the disk starts nothing.
		send(&machine.LifecycleServiceInstallProgress{Response: &machine.LifecycleServiceInstallProgress_Message{Message: text}})
	}); err != nil {
		return registryError("install", err)
	}

	return send(&machine.LifecycleServiceInstallProgress{Response: &machine.LifecycleServiceInstallProgress_ExitCode{}})
}
