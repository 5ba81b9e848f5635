// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

// Rollback boots the previous version of the operating system.
func (c *Client) Rollback(ctx context.Context) error {
	r, err := c.Machine.Rollback(ctx, &machine.RollbackRequest{})
	_, err = unwrap("rollback", r, err)

	return err
}

// Reset wipes the node and returns the actor id of the events of the reset.
func (c *Client) Reset(ctx context.Context, request *machine.ResetRequest) (actorID string, err error) {
	r, err := c.Machine.Reset(ctx, request)
	m, err := unwrap("reset", r, err)

	return m.GetActorId(), err
}

// Upgrade writes another version of the operating system, from an installer image that the node has, and streams what
// the installer says. The node has to be rebooted into it then.
func (c *Client) Upgrade(ctx context.Context, instance *common.ContainerdInstance, image string) iter.Seq2[string, error] {
	const call = "upgrade"

	return func(yield func(string, error) bool) {
		received := receive(ctx, call, func(ctx context.Context) (grpc.ServerStreamingClient[machine.LifecycleServiceUpgradeResponse], error) {
			return c.Lifecycle.Upgrade(ctx, &machine.LifecycleServiceUpgradeRequest{
				Containerd: instance, Source: &machine.InstallArtifactsSource{ImageName: image},
			})
		})

		for m, err := range received {
			if code := m.GetProgress().GetExitCode(); err == nil && code != 0 {
				err = fmt.Errorf("%s: the installer failed with exit status %d", call, code)
			}

			message := m.GetProgress().GetMessage()
			if err == nil && message == "" {
				continue
			}

			if !yield(message, err) || err != nil {
				return
			}
		}
	}
}

// LegacyUpgrade pulls, installs and reboots in one call, as nodes without the lifecycle service do. It returns the
// actor id of the events of the upgrade.
func (c *Client) LegacyUpgrade(ctx context.Context, request *machine.UpgradeRequest) (actorID string, err error) {
	r, err := c.Machine.Upgrade(ctx, request) // older nodes have no other
	m, err := unwrap("upgrade", r, err)

	return m.GetActorId(), err
}
