// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/sys/meta"
)

// MetaWrite implements machine.MachineService. The value is on the disk when it returns.
func (s *Server) MetaWrite(_ context.Context, req *machine.MetaWriteRequest) (*machine.MetaWriteResponse, error) {
	err := s.changeMeta("write", req.GetKey(), func(tag meta.Tag) error { return s.Meta.Set(tag, req.GetValue()) })
	if err != nil {
		return nil, err
	}

	return &machine.MetaWriteResponse{Messages: []*machine.MetaWrite{{}}}, nil
}

// MetaDelete implements machine.MachineService. Deleting a missing key succeeds.
func (s *Server) MetaDelete(_ context.Context, req *machine.MetaDeleteRequest) (*machine.MetaDeleteResponse, error) {
	if err := s.changeMeta("delete", req.GetKey(), func(tag meta.Tag) error { return s.Meta.Delete(tag) }); err != nil {
		return nil, err
	}

	return &machine.MetaDeleteResponse{Messages: []*machine.MetaDelete{{}}}, nil
}

func (s *Server) changeMeta(verb string, key uint32, change func(meta.Tag) error) error {
	if key == 0 || key > math.MaxUint8 {
		return status.Errorf(codes.InvalidArgument, "%s META key %#x: a key is one byte from 0x1 to 0xff", verb, key)
	}

	tag, err := meta.Tag(key), metactl.ErrNotLoaded

	switch {
	case s.Meta == nil:
	case tag == meta.Administrators: // a caller could make anyone an administrator
		return status.Errorf(codes.PermissionDenied, "%s META key %s: the system writes it, from machine.ca and machine.acceptedCAs", verb, tag)
	case tag == meta.Trial: // a caller could commit a change that was never healthy
		return status.Errorf(codes.PermissionDenied, "%s META key %s: the system writes it, for changes on trial", verb, tag)
	case tag == meta.Reset: // a caller could wipe the machine, or leave it half wiped
		return status.Errorf(codes.PermissionDenied, "%s META key %s: the system writes it, for a reset (talosctl reset)", verb, tag)
	default:
		err = change(tag)
	}

	if err != nil {
		return failed(fmt.Sprintf("%s META key %s", verb, tag), err)
	}

	return nil
}
