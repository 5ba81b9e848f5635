// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"github.com/prometheus/procfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// CPUInfo implements machine.MachineService.
func (s *Server) CPUInfo(context.Context, *emptypb.Empty) (*machine.CPUInfoResponse, error) {
	cpus, err := read(s.path("proc"), procfs.NewFS, procfs.FS.CPUInfo)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "processors: %v", err)
	}

	reply := &machine.CPUsInfo{}

	for _, c := range cpus {
		reply.CpuInfo = append(reply.CpuInfo, &machine.CPUInfo{
			Processor: uint32(c.Processor), VendorId: c.VendorID, CpuFamily: c.CPUFamily, Model: c.Model, ModelName: c.ModelName,
			Stepping: c.Stepping, Microcode: c.Microcode, CpuMhz: c.CPUMHz, CacheSize: c.CacheSize,
			PhysicalId: c.PhysicalID, Siblings: uint32(c.Siblings), CoreId: c.CoreID, CpuCores: uint32(c.CPUCores),
			ApicId: c.APICID, InitialApicId: c.InitialAPICID,
			Fpu: c.FPU, FpuException: c.FPUException, CpuIdLevel: uint32(c.CPUIDLevel), Wp: c.WP,
			Flags: c.Flags, Bugs: c.Bugs, BogoMips: c.BogoMips,
			ClFlushSize: uint32(c.CLFlushSize), CacheAlignment: uint32(c.CacheAlignment), AddressSizes: c.AddressSizes,
			PowerManagement: c.PowerManagement,
		})
	}

	return &machine.CPUInfoResponse{Messages: []*machine.CPUsInfo{reply}}, nil
}
