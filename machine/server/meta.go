// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/sys/meta"
)

// MetaWrite implements machine.MachineService. The value is on the disk when it returns.
func (s *Server) MetaWrite(_ context.Context, req *machine.MetaWriteRequest) (*machine.MetaWriteResponse, error) {
	tag, err := s.metaTag("write", req.GetKey())
	if err != nil {
		return nil, err
	}

	if err := s.Meta.Set(tag, req.GetValue()); err != nil {
		return nil, metaError("write", tag, err)
	}

	return &machine.MetaWriteResponse{Messages: []*machine.MetaWrite{{}}}, nil
}

// MetaDelete implements machine.MachineService. To delete what is not there is a success.
func (s *Server) MetaDelete(_ context.Context, req *machine.MetaDeleteRequest) (*machine.MetaDeleteResponse, error) {
	tag, err := s.metaTag("delete", req.GetKey())
	if err != nil {
		return nil, err
	}

	if err := s.Meta.Delete(tag); err != nil {
		return nil, metaError("delete", tag, err)
	}

	return &machine.MetaDeleteResponse{Messages: []*machine.MetaDelete{{}}}, nil
}

func (s *Server) metaTag(verb string, key uint32) (meta.Tag, error) {
	if key == 0 || key > math.MaxUint8 {
		return 0, status.Errorf(codes.InvalidArgument, "%s META key %#x: a key is one byte from 0x1 to 0xff", verb, key)
	}

	if s.Meta == nil {
		return 0, metaError(verb, meta.Tag(key), metactl.ErrNotLoaded)
	}

	// With it one could let oneself in, or everybody.
	if tag := meta.Tag(key); tag == meta.Administrators {
		return 0, status.Errorf(codes.PermissionDenied, "%s META key %s: the system keeps it: it follows machine.ca and machine.acceptedCAs", verb, tag)
	}

	return meta.Tag(key), nil
}

func metaError(verb string, tag meta.Tag, err error) error {
	code := codes.Internal
	if errors.Is(err, metactl.ErrNotLoaded) {
		code = codes.FailedPrecondition
	}

	return status.Errorf(code, "%s META key %s: %v", verb, tag, err)
}
