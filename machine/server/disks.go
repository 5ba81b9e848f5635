// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/storage"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
)

// diskService is storage.StorageService.
type diskService struct {
	storage.UnimplementedStorageServiceServer

	server *Server
}

// Disks implements storage.StorageService.
func (s *diskService) Disks(ctx context.Context, _ *emptypb.Empty) (*storage.DisksResponse, error) {
	disks, err := typed.List[block.DiskSpec](ctx, s.server.State, "")
	if err != nil {
		return nil, status.Errorf(codes.Internal, "disks: %v", err)
	}

	system, err := typed.Find[block.SystemDiskSpec](ctx, s.server.State, "", block.SystemDiskID)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "disks: %v", err)
	}

	reply := &storage.Disks{}

	for _, d := range disks {
		id, spec := d.Metadata().ID(), d.TypedSpec()

		reply.Disks = append(reply.Disks, &storage.Disk{
			Size: spec.Size, Model: spec.Model, DeviceName: spec.DevPath, Name: id, Serial: spec.Serial, Modalias: spec.Modalias,
			Uuid: spec.UUID, Wwid: spec.WWID, Type: diskType(spec), BusPath: spec.BusPath, Subsystem: spec.SubSystem,
			Readonly: spec.Readonly, SystemDisk: system != nil && system.TypedSpec().DiskID == id,
		})
	}

	return &storage.DisksResponse{Messages: []*storage.Disks{reply}}, nil
}

func diskType(d *block.DiskSpec) storage.Disk_DiskType {
	switch {
	case d.CDROM:
		return storage.Disk_CD
	case d.Transport == "nvme":
		return storage.Disk_NVME
	case d.Transport == "mmc":
		return storage.Disk_SD
	case d.Rotational:
		return storage.Disk_HDD
	default:
		return storage.Disk_SSD
	}
}
