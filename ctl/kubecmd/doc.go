// SPDX-License-Identifier: Apache-2.0

// Package kubecmd is "talosctl kubeconfig".
package kubecmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{newKubeconfigCommand(s)}
}
