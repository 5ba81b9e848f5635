// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// DiskStats implements machine.MachineService. The total covers all block devices of the kernel: disks, partitions, and
// devices composed of them.
func (s *Server) DiskStats(context.Context, *emptypb.Empty) (*machine.DiskStatsResponse, error) {
	open := func(proc string) (blockdevice.FS, error) { return blockdevice.NewFS(proc, s.path("sys")) }

	disks, err := read(s.path("proc"), open, blockdevice.FS.ProcDiskstats)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "disk statistics: %v", err)
	}

	reply := &machine.DiskStats{Total: &machine.DiskStat{}}

	for _, d := range disks {
		stat := &machine.DiskStat{
			Name:          d.DeviceName,
			ReadCompleted: d.ReadIOs, ReadMerged: d.ReadMerges, ReadSectors: d.ReadSectors, ReadTimeMs: d.ReadTicks,
			WriteCompleted: d.WriteIOs, WriteMerged: d.WriteMerges, WriteSectors: d.WriteSectors, WriteTimeMs: d.WriteTicks,
			IoInProgress: d.IOsInProgress, IoTimeMs: d.IOsTotalTicks, IoTimeWeightedMs: d.WeightedIOTicks,
			DiscardCompleted: d.DiscardIOs, DiscardMerged: d.DiscardMerges, DiscardSectors: d.DiscardSectors, DiscardTimeMs: d.DiscardTicks,
		}

		reply.Devices = append(reply.Devices, stat)
		addNumbers(reply.Total, stat)
	}

	return &machine.DiskStatsResponse{Messages: []*machine.DiskStats{reply}}, nil
}

// NetworkDeviceStats implements machine.MachineService.
func (s *Server) NetworkDeviceStats(context.Context, *emptypb.Empty) (*machine.NetworkDeviceStatsResponse, error) {
	links, err := read(s.path("proc"), procfs.NewFS, procfs.FS.NetDev)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "network statistics: %v", err)
	}

	reply := &machine.NetworkDeviceStats{Total: &machine.NetDev{}}

	for _, name := range slices.Sorted(maps.Keys(links)) {
		l := links[name]
		dev := &machine.NetDev{
			Name:    l.Name,
			RxBytes: l.RxBytes, RxPackets: l.RxPackets, RxErrors: l.RxErrors, RxDropped: l.RxDropped, RxFifo: l.RxFIFO,
			RxFrame: l.RxFrame, RxCompressed: l.RxCompressed, RxMulticast: l.RxMulticast,
			TxBytes: l.TxBytes, TxPackets: l.TxPackets, TxErrors: l.TxErrors, TxDropped: l.TxDropped, TxFifo: l.TxFIFO,
			TxCollisions: l.TxCollisions, TxCarrier: l.TxCarrier, TxCompressed: l.TxCompressed,
		}

		reply.Devices = append(reply.Devices, dev)
		addNumbers(reply.Total, dev)
	}

	return &machine.NetworkDeviceStatsResponse{Messages: []*machine.NetworkDeviceStats{reply}}, nil
}

// addNumbers adds the numbers of a message to those of another message of the same type.
func addNumbers(total, m proto.Message) {
	sum := total.ProtoReflect()

	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() == protoreflect.Uint64Kind {
			sum.Set(f, protoreflect.ValueOfUint64(sum.Get(f).Uint()+v.Uint()))
		}

		return true
	})
}
