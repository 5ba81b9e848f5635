// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
func Commands(*session.Session) []*cobra.Command {
	return []*cobra.Command{newCommand(), machineConfigCommand()}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gen",
		Short: "Generate configurations, secrets, keys and certificates",
	}

	force := cmd.PersistentFlags().BoolP("force", "f", false, "overwrite existing files")

	cmd.AddCommand(
		configCommand(force),
		secretsCommand(force),
		caCommand(force),
		keyCommand(force),
		csrCommand(force),
		crtCommand(force),
		keypairCommand(force),
	)

	return cmd
}
