// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// DiskUsage implements machine.MachineService: the disk space of each path, of the folders in it down to the depth (a
// negative depth has no limit) and, with all, of the files. A positive threshold leaves out smaller entries, a negative one
// larger ones. A path that cannot be read has an error in its own message.
func (s *Server) DiskUsage(req *machine.DiskUsageRequest, stream grpc.ServerStreamingServer[machine.DiskUsageInfo]) error {
	paths := req.GetPaths()
	if len(paths) == 0 {
		return status.Error(codes.InvalidArgument, "disk usage: name at least one path")
	}

	for _, path := range paths {
		if err := absolute("disk usage of", path); err != nil {
			return err
		}
	}

	for _, path := range paths {
		if err := s.usage(stream.Context(), path, req, stream.Send); err != nil {
			return err
		}
	}

	return nil
}

func (s *Server) usage(ctx context.Context, path string, req *machine.DiskUsageRequest, send func(*machine.DiskUsageInfo) error) error {
	var sent error

	err := filetree.Usage(ctx, s.path(path), func(e filetree.Entry, size int64) error {
		m := &machine.DiskUsageInfo{Name: validText(e.Path), RelativeName: validText(e.Relative), Size: size}

		switch {
		case e.Err != nil:
			m.Error = validText(e.Err.Error())
		case req.GetRecursionDepth() >= 0 && e.Depth > int(req.GetRecursionDepth()),
			!req.GetAll() && e.Depth > 0 && !e.Info.IsDir(),
			req.GetThreshold() > 0 && size < req.GetThreshold(),
			req.GetThreshold() < 0 && size > -req.GetThreshold():
			return nil
		}

		// With several paths, the first line of each names the path.
		if e.Depth == 0 && len(req.GetPaths()) > 1 {
			m.RelativeName = validText(filepath.Clean(path))
		}

		sent = send(m)

		return sent
	})

	switch {
	case sent != nil:
		return sent
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return send(&machine.DiskUsageInfo{Name: validText(path), RelativeName: validText(path), Error: validText(err.Error())})
	default:
		return nil
	}
}
