// SPDX-License-Identifier: Apache-2.0

package gen

import "github.com/spf13/cobra"

// Command is "talosctl gen".
func Command() *cobra.Command {
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

// ConfigCommand is "gen config" by itself, as other groups offer it.
func ConfigCommand() *cobra.Command {
	force := new(bool)
	cmd := configCommand(force)
	cmd.Flags().BoolVarP(force, "force", "f", false, "overwrite existing files")

	return cmd
}
