// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"strings"

	"github.com/rs/xid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// Reboot implements machine.MachineService. POWERCYCLE is the same as DEFAULT: every reboot goes through the firmware.
func (s *Server) Reboot(ctx context.Context, req *machine.RebootRequest) (*machine.RebootResponse, error) {
	if _, known := machine.RebootRequest_Mode_name[int32(req.GetMode())]; !known {
		return nil, status.Errorf(codes.InvalidArgument, "reboot: mode %d is unknown to this version", req.GetMode())
	}

	id, err := s.requestPower(ctx, quorum.Reboot, runtime.PowerRequestSpec{
		Action: runtime.PowerReboot,
		Force:  req.GetMode() == machine.RebootRequest_FORCE,
		Reason: "reboot over the API" + caller(ctx),
	})
	if err != nil {
		return nil, err
	}

	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: id}}}, nil
}

// Shutdown implements machine.MachineService.
func (s *Server) Shutdown(ctx context.Context, req *machine.ShutdownRequest) (*machine.ShutdownResponse, error) {
	id, err := s.requestPower(ctx, quorum.Shutdown, runtime.PowerRequestSpec{
		Action: runtime.PowerShutdown, Force: req.GetForce(), Reason: "shutdown over the API" + caller(ctx),
	})
	if err != nil {
		return nil, err
	}

	return &machine.ShutdownResponse{Messages: []*machine.Shutdown{{ActorId: id}}}, nil
}

// caller describes the caller by its roles, which is all that the machine knows of it.
func caller(ctx context.Context) string {
	roles := rolesFrom(ctx)
	if len(roles) == 0 {
		return ""
	}

	return " (" + strings.Join(roles, ", ") + ")"
}

// requestPower writes the request, which the power controller carries out. Unless it is forced, etcd must not lose its quorum.
func (s *Server) requestPower(ctx context.Context, action quorum.Action, spec runtime.PowerRequestSpec) (string, error) {
	stay := func() {}

	if !spec.Force {
		var err error

		if stay, err = s.mayGo(ctx, action); err != nil {
			return "", err
		}
	}

	return s.createPower(ctx, spec, stay)
}

// createPower writes the request. If that fails, stay says that the machine stays up.
func (s *Server) createPower(ctx context.Context, spec runtime.PowerRequestSpec, stay func()) (string, error) {
	spec.ActorID = xid.New().String()

	r := resource.New[runtime.PowerRequestSpec]("", runtime.PowerRequestID)
	*r.TypedSpec() = spec

	err := s.State.Create(ctx, r)

	switch {
	case err == nil:
		return spec.ActorID, nil
	case state.IsConflict(err):
		return "", goingDown(string(spec.Action))
	default:
		stay()

		return "", err
	}
}

func goingDown(what string) error {
	return status.Errorf(codes.FailedPrecondition, "%s: the machine is already going down", what)
}
