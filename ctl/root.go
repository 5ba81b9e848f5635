// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/configcmd"
	"github.com/seed-59268b81/talos/ctl/gen"
	"github.com/seed-59268b81/talos/ctl/session"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

// New returns the command talosctl with all its subcommands but cluster, which needs the lab and is added by the program.
func New() *cobra.Command { return newRoot(&session.Session{}) }

func newRoot(s *session.Session) *cobra.Command {
	root := &cobra.Command{
		Use:   "talosctl",
		Short: "Drive and observe Talos machines through their API",
		// Errors are printed by Run, once, with what to try next.
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}

	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return session.UsageError(cmd, "%s", err) })
	root.AddCommand(
		newApplyConfigCommand(s),
		newBootstrapCommand(s),
		newCgroupsCommand(s),
		newContainersCommand(s),
		newCopyCommand(s),
		newDebugCommand(s),
		newDiskFreeCommand(s),
		newDisksCommand(s),
		newDashboardCommand(s),
		newDmesgCommand(s),
		newEditCommand(s),
		newEtcdCommand(s),
		newEventsCommand(s),
		newExplainCommand(s),
		newGetCommand(s),
		newHealthCommand(s),
		newImageCommand(s),
		newInspectCommand(s),
		newKubeconfigCommand(s),
		newListCommand(s),
		newLogsCommand(s),
		newMemoryCommand(s),
		newMetaCommand(s),
		newMountsCommand(s),
		newNetstatCommand(s),
		newPatchCommand(s),
		newPcapCommand(s),
		newProcessesCommand(s),
		newReadCommand(s),
		newRebootCommand(s),
		newResetCommand(s),
		newRestartCommand(s),
		newRollbackCommand(s),
		newServiceCommand(s),
		newShutdownCommand(s),
		newStatsCommand(s),
		newSupportCommand(s, getFiles, observeFiles, mountFiles, logFiles, etcdFiles),
		newTimeCommand(s),
		newUpgradeCommand(s),
		newUsageCommand(s),
		newVersionCommand(s),
		newWipeCommand(s),
		gen.Command(),
	)
	root.AddCommand(configcmd.Commands(newConfigNewCommand(s))...)

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
		session.PrintError(stderr, err)

		return exitFailed
	}
}
