// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package container runs a service as a container of containerd: the runner of package supervisor for etcd and the kubelet, whose
// programs come as images. It pulls and unpacks the image (from the image cache, through containerd's registry hosts), creates a new
// container for each run and removes it afterwards.
//
// A container keeps running when containerd restarts. When the connection breaks, the runner waits for containerd, however long it is
// away, and attaches to the running task again, instead of restarting the service.
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// Namespaces of containerd: the system's own containers, and Kubernetes' pods.
const (
	NamespaceSystem = "system"
	NamespacePods   = "k8s.io"
)

// Container is a runner; see the package comment. It shares the host's network, and has its own mounts, hostname and IPC.
type Container struct {
	// ID of the container.
	ID string
	// Image reference; pulled when containerd does not have it.
	Image string
	// PodImages are images of Kubernetes' pods that containerd must have before the container runs.
	PodImages []string
	// Argv is the whole command line.
	Argv []string
	// Env is added to the image's.
	Env []string
	// Mounts beyond /proc, /dev, /sys and /run.
	Mounts []specs.Mount
	// UID and GID to run as.
	UID, GID uint32
	// Cgroup path below the cgroup2 mount.
	Cgroup string
	// OOMScoreAdj from -1000 to 1000.
	OOMScoreAdj int
	// Privileged gives all capabilities and devices, no masked paths, a writable /sys.
	Privileged bool
	// HostPID shares the host's process namespace.
	HostPID bool
	// RootPropagation of mounts: private when empty, shared for a container whose mounts the host must see.
	RootPropagation string
	// StopTimeout before SIGKILL; 10 s when zero.
	StopTimeout time.Duration
}

var _ supervisor.Runner = (*Container)(nil)

// Run implements supervisor.Runner.
func (c *Container) Run(ctx context.Context, run supervisor.Run) error {
	client, err := containerd.New(layout.ContainerdSocket, containerd.WithDefaultNamespace(NamespaceSystem), containerd.WithTimeout(10*time.Second))
	if err != nil {
		return fmt.Errorf("container %s: connect to containerd at %s: %w", c.ID, layout.ContainerdSocket, err)
	}
	defer client.Close()

	// The cleanup of the container must continue after ctx is done.
	background := namespaces.WithNamespace(context.WithoutCancel(ctx), NamespaceSystem)
	ctx = namespaces.WithNamespace(ctx, NamespaceSystem)

	image, err := c.pull(ctx, client, run)
	if err != nil {
		return err
	}

	for _, name := range c.PodImages {
		if err := pullForPods(ctx, client, name); err != nil {
			return fmt.Errorf("container %s: %w", c.ID, err)
		}
	}

	if err := remove(background, client, c.ID); err != nil {
		return fmt.Errorf("container %s: remove that of an earlier run: %w", c.ID, err)
	}

	cntr, err := client.NewContainer(ctx, c.ID,
		containerd.WithImage(image),
		containerd.WithNewSnapshot(c.ID, image),
		containerd.WithNewSpec(c.spec(image)...),
	)
	if err != nil {
		return fmt.Errorf("container %s: create: %w", c.ID, err)
	}

	defer remove(background, client, c.ID)

	task, err := cntr.NewTask(ctx, logTo(run.Log))
	if err != nil {
		return fmt.Errorf("container %s: create task: %w", c.ID, err)
	}

	exited, err := task.Wait(background)
	if err != nil {
		return fmt.Errorf("container %s: wait: %w", c.ID, err)
	}

	if err := task.Start(ctx); err != nil {
		return fmt.Errorf("container %s: start: %w", c.ID, err)
	}

	run.Started(int(task.Pid()))

	again := &reattach{attach: attachTo(cntr)}

	for {
		select {
		case status := <-exited:
			code, _, err := status.Result()
			if err == nil {
				if code == 0 {
					return nil
				}

				return fmt.Errorf("container %s: exit status %d", c.ID, code)
			}

			if exited, err = again.after(background, err); err != nil {
				return fmt.Errorf("container %s: %w", c.ID, err)
			}
		case <-ctx.Done():
			return c.stop(background, task, exited, errors.Is(context.Cause(ctx), supervisor.ErrHung))
		}
	}
}

// logTo writes both output streams to one log.
func logTo(w io.Writer) cio.Creator { return cio.NewCreator(cio.WithStreams(nil, w, w)) }

// stop ends the container; a hung one is killed at once.
func (c *Container) stop(ctx context.Context, task containerd.Task, exited <-chan containerd.ExitStatus, hung bool) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if hung && signal == syscall.SIGTERM {
			continue
		}

		err := task.Kill(ctx, signal, containerd.WithKillAll)
		if errdefs.IsNotFound(err) {
			return nil
		}

		// Processes that were stopped by a signal would not get this one.
		_ = task.Kill(ctx, syscall.SIGCONT, containerd.WithKillAll)

		select {
		case <-exited:
			return nil
		case <-time.After(cmp.Or(c.StopTimeout, 10*time.Second)):
		}
	}

	return fmt.Errorf("container %s: did not end after SIGKILL", c.ID)
}

// remove deletes a container with its task and snapshot, if it exists.
func remove(ctx context.Context, client *containerd.Client, id string) error {
	cntr, err := client.LoadContainer(ctx, id)
	if errdefs.IsNotFound(err) {
		// A crash may have left a snapshot without its container.
		if err := client.SnapshotService("").Remove(ctx, id); err != nil && !errdefs.IsNotFound(err) {
			return err
		}

		return nil
	}

	if err != nil {
		return err
	}

	if task, err := cntr.Task(ctx, nil); err == nil {
		if _, err := task.Delete(ctx, containerd.WithProcessKill); err != nil && !errdefs.IsNotFound(err) {
			return err
		}
	}

	err = cntr.Delete(ctx, containerd.WithSnapshotCleanup)
	if errdefs.IsNotFound(err) {
		return nil
	}

	return err
}

// errNoImage is the cause when no registry that the machine may use has the image.
var errNoImage = errors.New("the image is neither in the image cache nor can it be pulled")
