// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"
	"syscall"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/layout"
)

// EndAll ends all containers of a namespace at once, and removes their mounts. It is for those that are left when the kubelet or the
// supervisor has ended. Without a grace period they are killed at once. It returns when all have ended or the context is done; the
// error names those that could not be ended.
func EndAll(ctx context.Context, namespace string, grace time.Duration) error {
	client, err := containerd.New(layout.ContainerdSocket, containerd.WithTimeout(10*time.Second))
	if err != nil {
		return fmt.Errorf("end the containers of %s: connect to containerd at %s: %w", namespace, layout.ContainerdSocket, err)
	}
	defer client.Close()

	return endAll(namespaces.WithNamespace(ctx, namespace), client, grace)
}

func endAll(ctx context.Context, client *containerd.Client, grace time.Duration) error {
	all, err := client.Containers(ctx)
	if err != nil {
		return fmt.Errorf("end containers: list: %w", err)
	}

	var ends guard.Group

	for _, c := range all {
		ends.Go(func() error {
			if err := endTask(ctx, c, grace); err != nil && !errdefs.IsNotFound(err) {
				return fmt.Errorf("end container %s: %w", c.ID(), err)
			}

			return nil
		})
	}

	return ends.Wait()
}

// endTask ends the processes of a container and unmounts its root file system.
func endTask(ctx context.Context, c containerd.Container, grace time.Duration) error {
	task, err := c.Task(ctx, nil)
	if err != nil {
		return err
	}

	exited, err := task.Wait(ctx)
	if err != nil {
		return err
	}

	if grace > 0 {
		if err := task.Kill(ctx, syscall.SIGTERM); err != nil {
			return err
		}

		select {
		case <-exited:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(grace):
		}
	}

	// All its processes: the first may have left some.
	if err := task.Kill(ctx, syscall.SIGKILL, containerd.WithKillAll); err != nil && !errdefs.IsNotFound(err) {
		return err
	}

	_, err = task.Delete(ctx, containerd.WithProcessKill)

	return err
}
