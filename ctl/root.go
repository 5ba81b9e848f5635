// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/configcmd"
	"github.com/seed-59268b81/talos/ctl/gen"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

// New returns the command talosctl with all its subcommands but cluster, which needs the lab and is added by the program.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:   "talosctl",
		Short: "Drive and observe Talos machines through their API",
		// Errors are printed by Run, once, with what to try next.
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}

	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError(cmd, "%s", err) })
	root.AddCommand(
		newApplyConfigCommand(),
		newBootstrapCommand(),
		newCgroupsCommand(),
		newContainersCommand(),
		newCopyCommand(),
		newDebugCommand(),
		newDiskFreeCommand(),
		newDisksCommand(),
		newDashboardCommand(),
		newDmesgCommand(),
		newEditCommand(),
		newEtcdCommand(),
		newEventsCommand(),
		newExplainCommand(),
		newGetCommand(),
		newHealthCommand(),
		newImageCommand(),
		newInspectCommand(),
		newKubeconfigCommand(),
		newListCommand(),
		newLogsCommand(),
		newMemoryCommand(),
		newMetaCommand(),
		newMountsCommand(),
		newNetstatCommand(),
		newPatchCommand(),
		newPcapCommand(),
		newProcessesCommand(),
		newReadCommand(),
		newRebootCommand(),
		newResetCommand(),
		newRestartCommand(),
		newRollbackCommand(),
		newServiceCommand(),
		newShutdownCommand(),
		newStatsCommand(),
		newSupportCommand(),
		newTimeCommand(),
		newUpgradeCommand(),
		newUsageCommand(),
		newVersionCommand(),
		newWipeCommand(),
		gen.Command(),
	)
	root.AddCommand(configcmd.Commands(newConfigNewCommand())...)

	return root
}

// Run runs the command and returns the exit status, having printed what went wrong to stderr. The end of ctx interrupts
// it.
func Run(ctx context.Context, root *cobra.Command, stderr io.Writer) int {
	root.SetErr(stderr)
	group(root)

	err := root.ExecuteContext(ctx)

	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		return exitInterrupted
	default:
		printError(stderr, err)

		return exitFailed
	}
}

// usageError is a mistake in the arguments: the help says more.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s; see %s --help", fmt.Sprintf(format, args...), cmd.CommandPath())
}
