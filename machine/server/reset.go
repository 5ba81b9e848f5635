// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	blockctl "github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// resetting is set while a reset is prepared.
type resetting struct{ atomic.Bool }

// Reset implements machine.MachineService. Until it answers, nothing is destroyed: the member of etcd leaves first, because others depend on
// that, then what is to be wiped is written to META, and the machine goes down. A caller that hangs up does not stop it.
func (s *Server) Reset(ctx context.Context, req *machine.ResetRequest) (*machine.ResetResponse, error) {
	if !s.resetting.CompareAndSwap(false, true) {
		return nil, status.Error(codes.FailedPrecondition, "reset: a reset of this machine has begun already")
	}

	var id string

	done := guard.Go(func() (err error) {
		defer s.resetting.Store(false)

		id, err = s.reset(context.WithoutCancel(ctx), req)

		return err
	})

	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}

		return &machine.ResetResponse{Messages: []*machine.Reset{{ActorId: id}}}, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (s *Server) reset(ctx context.Context, req *machine.ResetRequest) (actor string, err error) {
	seen, err := s.wipeable(ctx)
	if err != nil {
		return "", err
	}

	record, err := reset.Choose(resetRequest(ctx, req), seen)
	if err != nil {
		return "", resetError(err)
	}

	for _, d := range record.Disks {
		if reason := blockctl.Busy(s.path(d.Path)); reason != "" {
			return "", status.Errorf(codes.FailedPrecondition, "reset: disk %s: %s", d.Path, reason)
		}
	}

	text, err := record.Encode()
	if err != nil {
		return "", status.Error(codes.InvalidArgument, err.Error())
	}

	stay, err := s.mayReset(ctx, req, record)
	if err != nil {
		return "", err
	}

	if req.GetGraceful() && record.LosesEtcd() {
		if err := s.leaveForReset(ctx); err != nil {
			return "", err
		}
	}

	if err := s.Meta.Set(meta.Reset, text); err != nil {
		stay()

		return "", failed("reset", err)
	}

	spec := runtime.PowerRequestSpec{
		Action: runtime.PowerShutdown, Force: !req.GetGraceful(), Reset: true, Forget: record.Forgets(),
		Reason: fmt.Sprintf("reset over the API: wipe %s%s", record, caller(ctx)),
	}
	if record.Reboot {
		spec.Action = runtime.PowerReboot
	}

	if actor, err = s.createPower(ctx, spec, stay); err != nil {
		return "", errors.Join(err, s.Meta.Delete(meta.Reset))
	}

	return actor, nil
}

// errNotKnown is the error while the membership is not known.
var errNotKnown = status.Error(codes.FailedPrecondition,
	"reset: it is not known yet whether this control plane has a member of etcd: wait until talosctl get etcdmembershipstatuses shows it, or --graceful=false")

// modes are the modes of the wire.
var modes = map[machine.ResetRequest_WipeMode]reset.Mode{
	machine.ResetRequest_ALL: reset.All, machine.ResetRequest_SYSTEM_DISK: reset.SystemDisk, machine.ResetRequest_USER_DISKS: reset.UserDisks,
}

// unknownMode is what this version does not know.
const unknownMode reset.Mode = 255

func resetRequest(ctx context.Context, req *machine.ResetRequest) reset.Request {
	q := reset.Request{By: "reset" + caller(ctx), Mode: unknownMode, Disks: req.GetUserDisksToWipe(), Reboot: req.GetReboot()}
	if mode, known := modes[req.GetMode()]; known {
		q.Mode = mode
	}

	for _, p := range req.GetSystemPartitionsToWipe() {
		if p.GetWipe() {
			q.Partitions = append(q.Partitions, p.GetLabel())
		}
	}

	return q
}

// wipeable returns what the machine has.
func (s *Server) wipeable(ctx context.Context) (seen reset.Seen, err error) {
	if !s.Platform.Owns(platform.Disks) {
		return reset.Seen{Folders: true, Partitions: blockctl.FolderLabels()}, nil
	}

	var system block.SystemDiskSpec
	if f := typed.Read(ctx, s.State, block.SystemDiskID, &system); f.Err != nil {
		return seen, f.Err
	}

	seen.SystemDisk = system.DevPath

	found, err := typed.List[block.DiscoveredVolumeSpec](ctx, s.State, "")
	if err != nil {
		return seen, err
	}

	for _, v := range found {
		if p := v.TypedSpec(); p.Parent == system.DiskID && p.Parent != "" && p.PartitionLabel != "" {
			seen.Partitions = append(seen.Partitions, p.PartitionLabel)
		}
	}

	if seen.Disks, err = blockctl.FindDisks(s.path("sys")); err != nil {
		return seen, status.Errorf(codes.Internal, "reset: %v", err)
	}

	for i := range seen.Disks {
		seen.Disks[i].Names = s.namesOf(seen.Disks[i].Path)
	}

	return seen, nil
}

// namesOf returns the links to a device, such as those in /dev/disk/by-id.
func (s *Server) namesOf(path string) (names []string) {
	links, err := filepath.Glob(s.path("dev/disk/*/*"))
	if err != nil {
		return nil // the pattern is constant
	}

	for _, link := range links {
		if to, err := filepath.EvalSymlinks(link); err == nil && to == s.path(path) {
			names = append(names, filepath.Join("/dev/disk", filepath.Base(filepath.Dir(link)), filepath.Base(link)))
		}
	}

	return names
}

// mayReset returns an error if the machine cannot be reset now. If it is not reset after all, call stay.
func (s *Server) mayReset(ctx context.Context, req *machine.ResetRequest, record reset.Record) (stay func(), err error) {
	stay = func() {}

	going, err := typed.Find[runtime.PowerRequestSpec](ctx, s.State, "", runtime.PowerRequestID)

	switch {
	case err != nil:
		return stay, err
	case going != nil:
		return stay, goingDown("reset")
	case s.Meta == nil:
		return stay, failed("reset", metactl.ErrNotLoaded)
	}

	if _, err := s.Meta.Get(meta.Reset); err != nil && !errors.Is(err, meta.ErrDamaged) {
		return stay, failed("reset", err)
	}

	switch {
	case !req.GetGraceful():
		return stay, nil
	case record.LosesEtcd():
		if err := s.knowsMembership(ctx); err != nil {
			return stay, err
		}

		return stay, s.guard(ctx, quorum.Reset)
	case record.Reboot:
		return s.mayGo(ctx, quorum.Reboot)
	default:
		return s.mayGo(ctx, quorum.Shutdown)
	}
}

// knowsMembership returns nil if it is known whether this machine has a member of etcd. That of a control plane is not known while it boots.
func (s *Server) knowsMembership(ctx context.Context) error {
	var role config.MachineTypeSpec
	if f := typed.Read(ctx, s.State, config.MachineTypeID, &role); f.Err != nil || !role.MachineType.IsControlPlane() {
		return f.Err
	}

	status, err := typed.Find[etcd.MembershipStatusSpec](ctx, s.State, "", etcd.MembershipID)
	if err == nil && status == nil {
		err = errNotKnown
	}

	return err
}

// leaveForReset has the member of this machine leave etcd, if it has one.
func (s *Server) leaveForReset(ctx context.Context) error {
	self, err := s.etcdSelf(ctx)
	if err != nil || self == 0 {
		return err
	}

	return s.leaveEtcd(ctx, "reset: leave etcd")
}

func resetError(err error) error {
	code := codes.Internal

	switch {
	case errors.Is(err, reset.ErrInvalid):
		code = codes.InvalidArgument
	case errors.Is(err, reset.ErrMissing):
		code = codes.NotFound
	case errors.Is(err, reset.ErrUnfit):
		code = codes.FailedPrecondition
	}

	return status.Error(code, err.Error())
}
