// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/filetree"
	"github.com/seed-59268b81/talos/sys/mount"
)

// Mounts implements machine.MachineService. A file system that does not report its size in time has none.
func (s *Server) Mounts(ctx context.Context, _ *emptypb.Empty) (*machine.MountsResponse, error) {
	table, err := mount.Table()
	if err != nil {
		return nil, status.Errorf(codes.Internal, "mounts: %v", err)
	}

	reply := &machine.Mounts{Stats: make([]*machine.MountStat, len(table))}

	// In parallel: network file systems without a server time out together.
	var queries guard.Group

	for i, entry := range table {
		stat := &machine.MountStat{Filesystem: validText(entry.Source), MountedOn: validText(entry.Target)}
		reply.Stats[i] = stat

		queries.Go(func() error {
			if fs, err := filetree.Statfs(ctx, entry.Target); err == nil {
				stat.Size, stat.Available = fs.Blocks*uint64(fs.Bsize), fs.Bavail*uint64(fs.Bsize)
			}

			return nil
		})
	}

	if err := queries.Wait(); err != nil {
		return nil, err
	}

	return &machine.MountsResponse{Messages: []*machine.Mounts{reply}}, nil
}

// fileSystemService implements machine.StorageService, which is not storage.StorageService.
type fileSystemService struct {
	machine.UnimplementedStorageServiceServer

	server *Server
}

// Statfs implements machine.StorageService.
func (s *fileSystemService) Statfs(ctx context.Context, req *machine.StorageServiceStatfsRequest) (*machine.StorageServiceStatfsResponse, error) {
	if err := absolute("file system of", req.GetPath()); err != nil {
		return nil, err
	}

	fs, err := filetree.Statfs(ctx, s.server.path(req.GetPath()))
	if err != nil {
		return nil, fileError("file system of "+req.GetPath(), err)
	}

	block := uint64(fs.Bsize)

	return &machine.StorageServiceStatfsResponse{
		Size: fs.Blocks * block, Used: (fs.Blocks - fs.Bfree) * block, Available: fs.Bavail * block,
		Inodes: fs.Files, InodesUsed: fs.Files - fs.Ffree, InodesFree: fs.Ffree,
	}, nil
}
