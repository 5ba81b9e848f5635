// SPDX-License-Identifier: Apache-2.0

package session

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// IsTerminal reports whether a stream of the command is one that a person looks at, or types into.
func IsTerminal(stream any) bool {
	file, isFile := stream.(*os.File)

	return isFile && term.IsTerminal(int(file.Fd()))
}

// Progress is where the command shows how far it is: to a person who waits, and to no one else.
func Progress(cmd *cobra.Command) io.Writer {
	if IsTerminal(cmd.ErrOrStderr()) {
		return cmd.ErrOrStderr()
	}

	return io.Discard
}
