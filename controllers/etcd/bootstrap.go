// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/etcd"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// The reasons to refuse a bootstrap; match them with errors.Is.
var (
	ErrNotConfigured   = errors.New("bootstrap: the machine has no configuration yet: apply one first (talosctl apply-config)")
	ErrNotControlPlane = errors.New("bootstrap can only be performed on a control plane node")
	ErrTimeNotSynced   = errors.New("bootstrap is not available yet: the time is not in sync; check the time servers (talosctl get timeservers)")
	ErrDiskNotReady    = errors.New("bootstrap is not available yet: the volume EPHEMERAL is not mounted; check talosctl get volumestatus")
	ErrHasData         = errors.New("bootstrap is not available: the etcd data directory is not empty, this node is a member of a cluster already")
	ErrAlreadyAsked    = errors.New("bootstrap is already in progress")
	ErrNoCertificates  = errors.New("bootstrap is not available yet: the certificates for etcd are not issued; check talosctl get etcdsecrets")
	ErrClusterExists   = errors.New("bootstrap is not available: the cluster was started on another control plane, and this node joins it by itself (see talosctl get etcdmembershipstatuses)")
	ErrNoSnapshot      = errors.New("bootstrap from a snapshot is not available: none was sent to this node (talosctl bootstrap --recover-from FILE)")
)

// Facts decide whether a bootstrap is allowed.
type Facts struct {
	Configured   bool
	ControlPlane bool
	TimeUsable   bool
	DiskReady    bool
	HasData      bool
	// Others describes the cluster that another control plane has.
	Others      string
	HasSnapshot bool
	Asked       bool
	// AskedToRecover is Asked with a snapshot. Such a request may be repeated, because the restore may have failed.
	AskedToRecover bool
}

var etcdRecover = etcd.BootstrapRequestSpec{Recover: true}

// CheckBootstrap returns nil if a new cluster may be started on this node, or the reason why not.
func CheckBootstrap(f Facts, request etcd.BootstrapRequestSpec) error {
	switch {
	case !f.Configured:
		return ErrNotConfigured
	case !f.ControlPlane:
		return ErrNotControlPlane
	case !f.TimeUsable:
		return ErrTimeNotSynced
	case !f.DiskReady:
		return ErrDiskNotReady
	case f.HasData:
		return ErrHasData
	case f.Others != "":
		return fmt.Errorf("%w: %s", ErrClusterExists, f.Others)
	case request.Recover && !f.HasSnapshot:
		return ErrNoSnapshot
	case f.Asked && !(f.AskedToRecover && request.Recover):
		return ErrAlreadyAsked
	default:
		return nil
	}
}

// RequestBootstrap checks the facts and writes the request for the service controller: to the disk first, so that a request that was
// answered is carried out even after a power cut. root is "/" outside of tests.
func RequestBootstrap(ctx context.Context, st state.State, root string, request etcd.BootstrapRequestSpec) error {
	facts, err := gatherFacts(ctx, st, root, request.Recover)
	if err != nil {
		return err
	}

	if err := CheckBootstrap(facts, request); err != nil {
		return err
	}

	if err := keepRequest(root, request); err != nil {
		return err
	}

	err = typed.Set(ctx, st, "", etcd.BootstrapID, request)
	if state.IsConflict(err) {
		return ErrAlreadyAsked
	}

	return err
}

// withdrawing returns a function that destroys the request of RequestBootstrap.
func withdrawing(st state.State) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if st == nil {
			return nil
		}

		err := typed.Destroy[etcd.BootstrapRequestSpec](ctx, st, "", etcd.BootstrapID)
		if state.IsNotFound(err) {
			return nil
		}

		return err
	}
}

func gatherFacts(ctx context.Context, st state.State, root string, restore bool) (Facts, error) {
	var f Facts

	cfg, err := fromconfig.Active(ctx, st)
	if err != nil {
		return f, err
	}

	if cfg != nil {
		f.Configured, f.ControlPlane = true, cfg.Type().IsControlPlane()
	}

	var (
		clock timeres.StatusSpec
		mount block.VolumeMountStatusSpec
	)

	disk := typed.Read(ctx, st, mountID, &mount)
	if err := errors.Join(disk.Err, typed.Read(ctx, st, timeres.StatusID, &clock).Err); err != nil {
		return f, err
	}

	f.TimeUsable, f.DiskReady = clock.Usable(), disk.OK

	if f.HasData, err = hasData(filepath.Join(root, DataDir)); err != nil {
		return f, err
	}

	if _, err := os.Stat(filepath.Join(root, SnapshotPath)); err == nil {
		f.HasSnapshot = true
	} else if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}

	if !f.ControlPlane || !f.DiskReady {
		return f, nil
	}

	kept, err := keptRequest(root)
	if err != nil {
		return f, err
	}

	f.Asked, f.AskedToRecover = kept != nil, kept != nil && kept.Recover

	if !f.HasData {
		f.Others, err = existing(ctx, st, root, restore)
	}

	return f, err
}
