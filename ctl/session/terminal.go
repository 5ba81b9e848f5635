// SPDX-License-Identifier: Apache-2.0

package session

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream of the command is one that a person looks at, or types into.
func IsTerminal(stream any) bool {
	file, isFile := stream.(*os.File)

	return isFile && term.IsTerminal(int(file.Fd()))
}
