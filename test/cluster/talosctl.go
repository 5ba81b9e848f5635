// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"os/exec"
)

// TalosctlCommand returns a command that runs talosctl as the administrator, with the kubeconfig that reaches Kubernetes
// from this computer. Talosctl is simpler.
func (c *Cluster) TalosctlCommand(ctx context.Context, args ...string) *exec.Cmd {
	//program:built talosctl
	cmd := exec.CommandContext(ctx, c.built.Bin("talosctl"), args...)
	cmd.Env = append(cmd.Environ(), "TALOSCONFIG="+c.Lab.State().TalosconfigPath(), "KUBECONFIG="+c.Lab.State().KubeconfigPath())

	return cmd
}
