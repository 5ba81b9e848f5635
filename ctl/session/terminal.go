// SPDX-License-Identifier: Apache-2.0

package session

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// IsTerminal reports whether a stream of the command is a terminal.
func IsTerminal(stream any) bool {
	file, isFile := stream.(*os.File)

	return isFile && term.IsTerminal(int(file.Fd()))
}

// Progress returns where the command prints its progress: to a terminal, or nowhere.
func Progress(cmd *cobra.Command) io.Writer {
	if IsTerminal(cmd.ErrOrStderr()) {
		return cmd.ErrOrStderr()
	}

	return io.Discard
}
