// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/spf13/cobra"

// Require marks flags that the command cannot do without, and returns the command.
func Require(cmd *cobra.Command, flags ...string) *cobra.Command {
	for _, flag := range flags {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic(err) // The flag is not defined: a mistake of the caller.
		}
	}

	return cmd
}

// Group returns a command that does nothing but hold others.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)

	return cmd
}
