// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/spf13/cobra"

// Require marks flags as required, and returns the command.
func Require(cmd *cobra.Command, flags ...string) *cobra.Command {
	for _, flag := range flags {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic(err) // the flag is not defined: an error in the program
		}
	}

	return cmd
}

// Group returns a command that only holds other commands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)

	return cmd
}
