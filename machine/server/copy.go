// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bufio"
	"compress/gzip"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// Copy implements machine.MachineService: it sends a gzipped tar archive. Files that cannot be read are left out, and the
// stream ends with an error that names them.
func (s *Server) Copy(req *machine.CopyRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	path := req.GetRootPath()
	if err := absolute("copy", path); err != nil {
		return err
	}

	out := bufio.NewWriterSize(sendWriter(func(p []byte) error { return stream.Send(&common.Data{Bytes: p}) }), streamChunk)

	zip, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}

	err = filetree.Archive(stream.Context(), s.path(path), zip)

	var skipped *filetree.Skipped
	if err != nil && !errors.As(err, &skipped) {
		return fileError("copy "+path, err)
	}

	if err := errors.Join(zip.Close(), out.Flush()); err != nil {
		return fileError("copy "+path, err)
	}

	if skipped != nil {
		return status.Errorf(codes.DataLoss, "copy %s: the archive is complete except for files that could not be read: %s", path, validText(skipped.Error()))
	}

	return nil
}

// sendWriter is an io.Writer that sends each write as one message. gRPC has encoded the bytes when the function returns.
type sendWriter func([]byte) error

// Write implements io.Writer.
func (send sendWriter) Write(p []byte) (int, error) {
	if err := send(p); err != nil {
		return 0, err
	}

	return len(p), nil
}
