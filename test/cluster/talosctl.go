// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"os/exec"
)

// TalosctlCommand is a run of talosctl as the administrator, for those who want more of it than Talosctl. It has the
// kubeconfig of those who run kubectl here, by which Kubernetes is reached from this computer.
func (c *Cluster) TalosctlCommand(ctx context.Context, args ...string) *exec.Cmd {
	//program:built talosctl
	cmd := exec.CommandContext(ctx, c.built.Bin("talosctl"), args...)
	cmd.Env = append(cmd.Environ(), "TALOSCONFIG="+c.Lab.State().TalosconfigPath(), "KUBECONFIG="+c.Lab.State().KubeconfigPath())

	return cmd
}
