// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
)

// NodeFailure is the failure of a command on one node.
type NodeFailure struct {
	node string
	err  error
}

// Error implements error.
func (f *NodeFailure) Error() string { return f.node + ": " + f.err.Error() }

// Unwrap returns the cause.
func (f *NodeFailure) Unwrap() error { return f.err }

// PrintError prints each failure of a command: node, operation, cause, and on a separate line what to try.
func PrintError(w io.Writer, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // the failures of Each
		for _, err := range joined.Unwrap() {
			PrintError(w, err)
		}

		return
	}

	var prefix string

	if failure := (*NodeFailure)(nil); errors.As(err, &failure) {
		prefix, err = failure.node+": ", failure.err
	}

	cause, try := client.Explain(err)
	fmt.Fprintf(w, "error: %s%s\n", prefix, strings.TrimSpace(cause))

	if try != "" {
		fmt.Fprintf(w, "  try: %s\n", try)
	}
}

// UsageError is an error in the arguments. It names the help of the command.
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s; see %s --help", fmt.Sprintf(format, args...), cmd.CommandPath())
}
