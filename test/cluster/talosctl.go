// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"os/exec"
	"path/filepath"
)

// TalosctlCommand is a run of talosctl as the administrator, for those who want more of it than Talosctl.
func (c *Cluster) TalosctlCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.built.talosctl, args...)
	cmd.Env = append(cmd.Environ(), "TALOSCONFIG="+filepath.Join(c.dir, "talosconfig"))

	return cmd
}
