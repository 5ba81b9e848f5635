// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/install/upgrade"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/version"
)

// BootLoader is the boot loader of this machine.
type BootLoader interface {
	Use(fn func(loader.Loader) error) error
}

// Trials tries changes of the machine.
type Trials interface {
	// Trial returns the record of the last trial.
	Trial(ctx context.Context) (trial.Record, error)
	// TryEntry has the next boot try a boot entry, for a time or, if that is 0, for the usual one. An entry that was to be tried at the next boot
	// before is not.
	TryEntry(ctx context.Context, change trial.Change, by string, within time.Duration) (trial.Record, error)
	// WithdrawEntry has the next boot not try the entry of a trial. With keep that entry stays on the machine.
	WithdrawEntry(ctx context.Context, id, why string, keep bool) error
}

// noEntries is the answer in a container.
const noEntries = "a container has no boot entries of its own: start another image; see: talosctl get platformconditions"

// upgrading has the operations that change boot entries, one at a time.
func (s *Server) upgrading(what string, fn func() error) error {
	switch {
	case !s.Platform.Owns(platform.Disks):
		return status.Errorf(codes.FailedPrecondition, "%s: %s", what, noEntries)
	case s.Loader == nil || s.Trials == nil:
		return status.Errorf(codes.Unavailable, "%s: the machine is still starting: try again", what)
	case !s.changing.TryLock():
		return status.Errorf(codes.Aborted, "%s: another upgrade, rollback or installation is under way: try again when it has ended", what)
	}
	defer s.changing.Unlock()

	err := fn()
	if _, coded := status.FromError(err); coded {
		return err
	}

	return failed(what, err)
}

// idle returns an error while a trial runs. One that waits for the next boot may be replaced. One of a configuration that waits for no person
// may be kept: TryEntry decides.
func (s *Server) idle(ctx context.Context) (trial.Record, error) {
	last, err := s.Trials.Trial(ctx)
	if err == nil && (last.State == trial.Running && (last.Entry.To != "" || last.Confirm) || last.Pending) {
		err = status.Errorf(codes.FailedPrecondition, "trial %s is not over: wait until it is decided (talosctl get trials), or confirm it (talosctl confirm)", last.ID)
	}

	return last, err
}

// restart restarts the machine into what a trial tries. If it does not restart, nothing is tried at a later boot, which would surprise.
func (s *Server) restart(ctx context.Context, action quorum.Action, trial string, keep bool, spec runtimeres.PowerRequestSpec) (actor string, err error) {
	spec.Action = runtimeres.PowerReboot

	actor, err = s.requestPower(ctx, action, spec)
	if err == nil {
		return actor, nil
	}

	// The caller may be gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()

	why := "the machine could not be restarted: " + status.Convert(err).Message()
	if undone := s.Trials.WithdrawEntry(ctx, trial, why, keep); undone != nil {
		return "", status.Errorf(status.Code(err), "%s; the next boot may try it nevertheless: %v", status.Convert(err).Message(), undone)
	}

	return "", err
}

// withdrawTimeout bounds the end of a trial whose boot does not come.
const withdrawTimeout = 30 * time.Second

// trialTime returns how long the caller wants a version to be tried, or 0.
func trialTime(ctx context.Context) (time.Duration, error) {
	md, _ := metadata.FromIncomingContext(ctx)

	given := md.Get(contract.KeyTrialTime)
	if len(given) == 0 {
		return 0, nil
	}

	d, err := time.ParseDuration(given[0])
	if err != nil || d < trial.MinDeadline || d > trial.MaxDeadline {
		return 0, status.Errorf(codes.InvalidArgument, "the time of a trial %q: it must be a duration of %s to %s", given[0], trial.MinDeadline, trial.MaxDeadline)
	}

	return d, nil
}

// installRelease adds a release to the machine, and has the next boot try it. It returns the trial.
func (s *Server) installRelease(ctx context.Context, namespace common.ContainerdNamespace, image, by string, say func(string)) (string, error) {
	within, err := trialTime(ctx)
	if err != nil {
		return "", err
	}

	if _, err := s.idle(ctx); err != nil {
		return "", err
	}

	var change upgrade.Change

	err = s.withRelease(ctx, "upgrade", namespace, image, say, func(r *release.Image, name string) error {
		say(fmt.Sprintf("upgrading from %s to %s, %s", version.Tag, r.Version, name))

		return s.Loader.Use(func(l loader.Loader) (err error) {
			change, err = upgrade.Add(ctx, l, r, runtime.GOARCH, version.Tag, say)

			return err
		})
	})
	if err != nil {
		return "", err
	}

	record, err := s.Trials.TryEntry(ctx, change.Change, by, within)
	if err != nil {
		return "", err
	}

	say(fmt.Sprintf("the next boot tries %s (trial %s). It stays if the machine is healthy within %s; otherwise the machine goes back to %s",
		change.ToVersion, record.ID, record.Deadline, change.FromVersion))

	return record.ID, nil
}

// Upgrade implements machine.MachineService: it pulls the image unless containerd has it, and restarts the machine into it.
func (s *Server) Upgrade(ctx context.Context, req *machine.UpgradeRequest) (*machine.UpgradeResponse, error) {
	if _, known := machine.UpgradeRequest_RebootMode_name[int32(req.GetRebootMode())]; !known {
		return nil, status.Errorf(codes.InvalidArgument, "upgrade: reboot mode %d is unknown to this version", req.GetRebootMode())
	}

	reason := "upgrade to " + req.GetImage() + caller(ctx)
	actor := ""

	err := s.upgrading("upgrade", func() error {
		if !req.GetForce() {
			if err := s.guard(ctx, quorum.Upgrade); err != nil {
				return err
			}
		}

		if err := s.fetch(ctx, req.GetImage()); err != nil {
			return err
		}

		say := func(text string) { s.Log.Info("upgrade: " + text) }

		trial, err := s.installRelease(ctx, common.ContainerdNamespace_NS_SYSTEM, req.GetImage(), reason, say)
		if err != nil || req.GetStage() {
			return err
		}

		actor, err = s.restart(ctx, quorum.Upgrade, trial, false, runtimeres.PowerRequestSpec{Force: req.GetForce(), Reason: reason})

		return err
	})
	if err != nil {
		return nil, err
	}

	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, nil
}

// fetch pulls an image into the system's namespace, unless it is there, for example by talosctl image import. Without containerd it is read
// from its registry later.
func (s *Server) fetch(ctx context.Context, image string) error {
	if cfg, err := s.withoutContainerd(ctx); err != nil || cfg != nil {
		return err
	}

	return s.withImages("upgrade", common.ContainerdNamespace_NS_SYSTEM, func(images *container.Images) error {
		_, err := images.Target(ctx, image)
		if errors.Is(err, container.ErrNoImage) {
			_, err = images.Pull(ctx, image, nil)
		}

		return err
	})
}

// Rollback implements machine.MachineService: it restarts the machine into the version that it had before. That is tried like an upgrade.
func (s *Server) Rollback(ctx context.Context, _ *machine.RollbackRequest) (*machine.RollbackResponse, error) {
	err := s.upgrading("rollback", func() error {
		last, err := s.idle(ctx)
		if err != nil {
			return err
		}

		if err := s.guard(ctx, quorum.Rollback); err != nil {
			return err
		}

		within, err := trialTime(ctx)
		if err != nil {
			return err
		}

		var change upgrade.Change

		if err := s.Loader.Use(func(l loader.Loader) error {
			change, err = upgrade.Previous(l, last)

			return err
		}); err != nil {
			return err
		}

		reason := fmt.Sprintf("rollback from %s to %s%s", change.FromVersion, change.ToVersion, caller(ctx))

		record, err := s.Trials.TryEntry(ctx, change.Change, reason, within)
		if err != nil {
			return err
		}

		_, err = s.restart(ctx, quorum.Rollback, record.ID, true, runtimeres.PowerRequestSpec{Reason: reason})

		return err
	})
	if err != nil {
		return nil, err
	}

	return &machine.RollbackResponse{Messages: []*machine.Rollback{{}}}, nil
}

// lifecycleService implements machine.LifecycleService, whose method names clash with those of other services.
type lifecycleService struct {
	machine.UnimplementedLifecycleServiceServer

	server *Server
}

// Upgrade implements machine.LifecycleService. The image must have been pulled or imported, unless the machine has no configuration. The
// machine is not restarted.
func (l lifecycleService) Upgrade(req *machine.LifecycleServiceUpgradeRequest, stream grpc.ServerStreamingServer[machine.LifecycleServiceUpgradeResponse]) error {
	s, ctx := l.server, stream.Context()

	send := func(p *machine.LifecycleServiceInstallProgress) error {
		return stream.Send(&machine.LifecycleServiceUpgradeResponse{Progress: p})
	}

	image := req.GetSource().GetImageName()

	err := s.upgrading("upgrade", func() error {
		if err := s.guard(ctx, quorum.Upgrade); err != nil {
			return err
		}

		_, err := s.installRelease(ctx, req.GetContainerd().GetNamespace(), image, "upgrade to "+image+caller(ctx), func(text string) {
			s.Log.Info("upgrade: " + text)
			// If the caller has disconnected, the context ends the upgrade.
			send(&machine.LifecycleServiceInstallProgress{Response: &machine.LifecycleServiceInstallProgress_Message{Message: text}})
		})

		return err
	})
	if err != nil {
		return err
	}

	return send(&machine.LifecycleServiceInstallProgress{Response: &machine.LifecycleServiceInstallProgress_ExitCode{}})
}
