// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab/supervisor"
)

const runLab = "run-lab"

// supervisorCommand returns the command that runs this program as the supervisor of a lab.
func supervisorCommand() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to run the lab with it: %w", err)
	}

	return []string{self, "cluster", runLab}, nil
}

// newRunLabCommand returns the command that the other commands start in the background.
func newRunLabCommand() *cobra.Command {
	return &cobra.Command{
		Use:    runLab + " DIRECTORY",
		Short:  "Run the lab in a directory until it is stopped",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The lab keeps running when the terminal is closed.
			signal.Ignore(syscall.SIGHUP)

			return supervisor.Run(cmd.Context(), args[0], slog.New(slog.NewTextHandler(os.Stderr, nil)), nil)
		},
	}
}
