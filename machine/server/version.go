// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"os"
	"runtime"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/version"
)

// Version implements machine.MachineService.
func (s *Server) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	return &machine.VersionResponse{Messages: []*machine.Version{{
		Version: &machine.VersionInfo{
			Tag: version.Tag, Sha: version.SHA, Built: version.Built,
			GoVersion: runtime.Version(), Os: runtime.GOOS, Arch: runtime.GOARCH,
		},
		Platform: &machine.PlatformInfo{Name: s.Platform.Name(), Mode: s.Platform.Mode.String()},
		Features: &machine.FeaturesInfo{Rbac: true},
	}}}, nil
}

// Hostname implements machine.MachineService.
func (s *Server) Hostname(context.Context, *emptypb.Empty) (*machine.HostnameResponse, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}

	return &machine.HostnameResponse{Messages: []*machine.Hostname{{Hostname: name}}}, nil
}
