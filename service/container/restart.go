// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Errors of Restart.
var (
	ErrNoContainer = errors.New("no such container on this node")
	ErrNotRunning  = errors.New("the container is not running")
	ErrSandbox     = errors.New("this is a pod; restart one of its containers, or delete the pod")
)

// stopGrace is the time before a container is killed.
const stopGrace = 10 * time.Second

// Restart ends a container, by force if necessary. The supervisor or the kubelet starts it again. The short id at the end of id may be
// left out; then id is that of the running container.
func (i *Inventory) Restart(ctx context.Context, namespace, id string) error {
	all, err := i.List(ctx, namespace)
	if err != nil {
		return err
	}

	c, err := choose(all, id)
	if err != nil {
		return err
	}

	ctx = namespaces.WithNamespace(ctx, namespace)

	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		ended, err := i.kill(ctx, c.InternalID, signal)
		if err != nil {
			return fmt.Errorf("end container %s: %w", c.ID, err)
		}

		if ended {
			return nil
		}
	}

	return fmt.Errorf("container %s did not end within %s after SIGKILL", c.ID, stopGrace)
}

// kill sends a signal and waits until the container has ended.
func (i *Inventory) kill(ctx context.Context, id string, signal unix.Signal) (ended bool, err error) {
	client := tasks.NewTasksClient(i.conn)

	_, err = client.Kill(ctx, &tasks.KillRequest{ContainerID: id, Signal: uint32(signal)})
	if status.Code(err) == codes.NotFound {
		return true, nil
	}

	if err != nil {
		return false, err
	}

	within, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()

	_, err = client.Wait(within, &tasks.WaitRequest{ContainerID: id})

	switch {
	case err == nil, status.Code(err) == codes.NotFound:
		return true, nil
	case within.Err() != nil && ctx.Err() == nil:
		return false, nil
	default:
		return false, err
	}
}

// choose returns the container with an id.
func choose(all []Listed, id string) (Listed, error) {
	stopped := false

	for _, c := range all {
		if c.ID != id && c.InternalID != id && !strings.HasPrefix(c.ID, id+":") {
			continue
		}

		// The id of a pod is a prefix of the ids of its containers, but means the pod.
		if c.Sandbox || c.PodID == id && c.ID != id {
			return Listed{}, fmt.Errorf("container %q: %w", id, ErrSandbox)
		}

		if c.Running {
			return c, nil
		}

		stopped = true
	}

	if stopped {
		return Listed{}, fmt.Errorf("container %q: %w", id, ErrNotRunning)
	}

	return Listed{}, fmt.Errorf("container %q: %w", id, ErrNoContainer)
}
