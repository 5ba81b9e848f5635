// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// Read implements machine.MachineService. It stops where a file of the kernel would block.
func (s *Server) Read(req *machine.ReadRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	if err := absolute("read", req.GetPath()); err != nil {
		return err
	}

	content, err := filetree.Open(stream.Context(), s.path(req.GetPath()), true)
	if err != nil {
		return fileError("read "+req.GetPath(), err)
	}
	defer content.Close()

	for {
		b, err := content.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return fileError("read "+req.GetPath(), err)
		}

		if err := stream.Send(&common.Data{Bytes: b}); err != nil {
			return err
		}
	}
}
