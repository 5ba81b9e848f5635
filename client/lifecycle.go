// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

// Rollback boots the previous version of the operating system.
func (c *Client) Rollback(ctx context.Context) error {
	return run(ctx, "rollback", c.Machine.Rollback, &machine.RollbackRequest{})
}

// Reset wipes the node and returns the actor id of the events of the reset.
func (c *Client) Reset(ctx context.Context, request *machine.ResetRequest) (actorID string, err error) {
	return field(ctx, "reset", c.Machine.Reset, request, (*machine.Reset).GetActorId)
}

// Upgrade installs another version of the operating system from an installer image on the node, and streams the installer's
// output. The node must be rebooted afterwards.
func (c *Client) Upgrade(ctx context.Context, instance *common.ContainerdInstance, image string) iter.Seq2[string, error] {
	request := &machine.LifecycleServiceUpgradeRequest{Containerd: instance, Source: &machine.InstallArtifactsSource{ImageName: image}}

	return decoded(receive(ctx, "upgrade", c.Lifecycle.Upgrade, request), func(m *machine.LifecycleServiceUpgradeResponse) (string, bool, error) {
		message := m.GetProgress().GetMessage()

		if code := m.GetProgress().GetExitCode(); code != 0 {
			return message, false, fmt.Errorf("upgrade: the installer failed with exit status %d", code)
		}

		return message, message == "", nil
	})
}

// LegacyUpgrade pulls, installs and reboots in one call, for nodes without the lifecycle service. It returns the actor id of the
// events of the upgrade.
func (c *Client) LegacyUpgrade(ctx context.Context, request *machine.UpgradeRequest) (actorID string, err error) {
	return field(ctx, "upgrade", c.Machine.Upgrade, request, (*machine.Upgrade).GetActorId) // older nodes have no other
}
