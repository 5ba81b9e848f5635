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

// restoreDir is where a snapshot is unpacked, beside the data that it becomes.
const restoreDir = DataDir + "/restore"

// dataPoll is how often it is looked whether etcd has data, until it has.
const dataPoll = 250 * time.Millisecond

// errDataGone is why etcd does not start: it would start a new cluster, and the Kubernetes API would go on with nothing in it.
var errDataGone = errors.New("etcd's data is gone from " + DataDir + ", and no new cluster is started in its place: " +
	"bring it back from a snapshot (talosctl reboot, then talosctl bootstrap --recover-from FILE)")

// Runner is etcd that begins a cluster at most once: with nothing, or with a snapshot. One that had data does not start
// without it.
type Runner struct {
	// Etcd runs once the data is as it has to be.
	Etcd supervisor.Runner

	root string
	// begins tells that there need not be data at the first start; tool then restores what is at SnapshotPath into
	// restoreDir, and nil leaves it to etcd to begin with nothing.
	begins bool
	tool   func() supervisor.Runner

	hadData atomic.Bool
}

// Run implements supervisor.Runner. A snapshot that cannot be restored fails the run; the next one takes what has been sent
// meanwhile.
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
	case r.tool != nil:
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

// begun notes that there is data, so that nothing starts another cluster.
func (r *Runner) begun() error {
	r.hadData.Store(true)

	return forgetRequest(r.root)
}

// watchData notes that there is data.
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

// restore has etcd's own tool restore the snapshot beside the data, which it becomes in one step, when it is whole.
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

	// The service has not started with its tool.
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

	// Until then the snapshot is all that there is.
	if err != nil {
		return err
	}

	return errors.Join(os.RemoveAll(dir), removed(filepath.Join(r.root, SnapshotPath)))
}

// settle has all that was written below a directory be on the disk.
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

// restoreTool is etcdutl of etcd's image.
func restoreTool(spec etcd.SpecSpec, skipHashCheck *atomic.Bool) func() supervisor.Runner {
	return func() supervisor.Runner {
		argv := []string{
			"/usr/local/bin/etcdutl", "snapshot", "restore", SnapshotPath,
			"--name=" + spec.Name, "--initial-cluster=" + settings.SelfCluster(spec),
			"--initial-advertise-peer-urls=" + settings.URLs(spec.AdvertisedAddresses, peerPort), "--data-dir=" + restoreDir,
			// Watches that began before the snapshot was taken must not go on as if nothing had happened: revisions start
			// beyond all that were ever given out, and older ones are gone.
			"--bump-revision=1000000000", "--mark-compacted",
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
