// SPDX-License-Identifier: Apache-2.0

// Package configcmd is the part of talosctl that works on configurations and needs no machine: "config"
// edits the client's own file, "validate" checks and "machineconfig" makes and patches machine
// configurations.
package configcmd

import "github.com/spf13/cobra"

// Commands are the commands of this package, for the root. Those that need a machine are given, and become commands of
// "config".
func Commands(online ...*cobra.Command) []*cobra.Command {
	return []*cobra.Command{configCommand(online...), validateCommand(), machineConfigCommand()}
}
