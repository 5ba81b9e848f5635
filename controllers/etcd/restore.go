// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
)

// restoreDir is where a snapshot is restored, before it is moved to the data directory.
const restoreDir = DataDir + "/restore"

// dataPoll is the interval of the checks whether etcd has data.
const dataPoll = 250 * time.Millisecond

// errDataGone prevents a start without data: etcd would start a new cluster, and the Kubernetes API would be empty.
var errDataGone = errors.New("etcd's data is missing from " + DataDir + ", and no new cluster is started in its place: " +
	"restore it from a snapshot (talosctl reboot, then talosctl bootstrap --recover-from FILE)")

// Runner runs etcd. It begins without data at most once: a new cluster, empty or from a snapshot, or as a new member. An etcd that had data is not started without it.
type Runner struct {
	// Etcd is run when the data is ready.
	Etcd supervisor.Runner

	root string
	// begins allows a first start without data. Then tool, if set, restores the snapshot at SnapshotPath into restoreDir.
	begins bool
	tool   func() supervisor.Runner

	hadData atomic.Bool
}

// Run implements supervisor.Runner. A snapshot that cannot be restored fails the run; the next run uses the latest snapshot.
func (r *Runner) Run(ctx context.Context, run supervisor.Run) error {
	dir := filepath.Join(r.root, DataDir)

	data, err := hasData(dir)

	switch {
	case err != nil:
		return err
	case data:
		if err := r.begun(); err != nil {
			return err
		}
	case !r.begins || r.hadData.Load():
		return errDataGone
	}

	if !data {
		if err := clearDataDir(dir); err != nil {
			return err
		}
	}

	if !data && r.tool != nil {
		if err := r.restore(ctx, run); err != nil {
			return fmt.Errorf("restore the etcd snapshot: %w; see talosctl logs etcd, and send another: talosctl bootstrap --recover-from FILE", err)
		}
	}

	if ctx.Err() != nil {
		return nil
	}

	watching, stop := context.WithCancel(ctx)
	watched := guard.Go(func() error { r.watchData(watching, dir); return nil })

	defer func() { stop(); <-watched }()

	return r.Etcd.Run(ctx, run)
}

// begun records that there is data, so that no request starts another cluster.
func (r *Runner) begun() error {
	r.hadData.Store(true)

	return forgetRequest(r.root)
}

// watchData waits until there is data, and records it.
func (r *Runner) watchData(ctx context.Context, dir string) {
	for !r.hadData.Load() {
		if data, err := hasData(dir); err == nil && data {
			_ = r.begun()
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(dataPoll):
		}
	}
}

// restore runs etcdutl to restore the snapshot into restoreDir, and renames the complete result to the data.
func (r *Runner) restore(ctx context.Context, run supervisor.Run) error {
	data, dir := filepath.Join(r.root, DataDir), filepath.Join(r.root, restoreDir)

	err := os.RemoveAll(dir)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}

	if err == nil {
		err = own(dir)
	}

	if err != nil {
		return err
	}

	run.Preparing("Restoring the snapshot")

	// The start of the tool is not the start of the service.
	started := run.Started
	run.Started = func(int) {}

	err = r.tool().Run(ctx, run)
	run.Started = started

	if err != nil || ctx.Err() != nil {
		return err
	}

	if err := settle(dir); err != nil {
		return err
	}

	err = os.Rename(filepath.Join(dir, "member"), filepath.Join(data, "member"))
	if err == nil {
		err = durable.SyncDir(data)
	}

	// Until the rename is on the disk, the snapshot is the only copy.
	if err != nil {
		return err
	}

	return errors.Join(os.RemoveAll(dir), removed(filepath.Join(r.root, SnapshotPath)))
}

// settle flushes the file system of a directory to the disk.
func settle(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()

	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}

	return nil
}

// restoreTool returns a function that builds the container of etcdutl, from etcd's image.
func restoreTool(spec etcd.SpecSpec, skipHashCheck *atomic.Bool) func() supervisor.Runner {
	return func() supervisor.Runner {
		argv := []string{
			"/usr/local/bin/etcdutl", "snapshot", "restore", SnapshotPath,
			"--name=" + spec.Name, "--initial-cluster=" + settings.SelfCluster(spec),
			"--initial-advertise-peer-urls=" + settings.URLs(spec.AdvertisedAddresses, peerPort), "--data-dir=" + restoreDir,
			// Watches from before the restore must not continue: new revisions start beyond all earlier ones, and those are
			// compacted.
			"--bump-revision=1000000000", "--mark-compacted",
			newToken(),
		}

		if skipHashCheck.Load() {
			argv = append(argv, "--skip-hash-check")
		}

		return &container.Container{
			ID: "etcd-restore", Image: spec.Image, Argv: argv, UID: layout.UserEtcd, GID: layout.UserEtcd,
			Mounts: []specs.Mount{
				{Type: "bind", Source: DataDir, Destination: DataDir, Options: []string{"rbind", "rw"}},
				{Type: "bind", Source: SnapshotPath, Destination: SnapshotPath, Options: []string{"bind", "ro"}},
			},
			Cgroup: cgroup.Etcd.Path, OOMScoreAdj: -998,
		}
	}
}
