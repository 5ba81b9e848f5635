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

// Unfinished is the failure of a command that leaves something half done. What is left is said also after Ctrl-C, when errors are not.
type Unfinished struct {
	// Err is the cause.
	Err error
	// Left is what is left, and what to do about it.
	Left string
}

// Error implements error.
func (u *Unfinished) Error() string { return u.Err.Error() + "; " + u.Left }

// Unwrap returns the cause.
func (u *Unfinished) Unwrap() error { return u.Err }

// PrintInterrupted prints what a command leaves half done that was interrupted.
func PrintInterrupted(w io.Writer, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			PrintInterrupted(w, err)
		}

		return
	}

	var prefix string

	if failure := (*NodeFailure)(nil); errors.As(err, &failure) {
		prefix = failure.node + ": "
	}

	if u := (*Unfinished)(nil); errors.As(err, &u) {
		fmt.Fprintf(w, "interrupted: %s%s\n", prefix, u.Left)
	}
}

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

	var left string

	if u := (*Unfinished)(nil); errors.As(err, &u) {
		err, left = u.Err, "; "+u.Left
	}

	cause, try := client.Explain(err)
	fmt.Fprintf(w, "error: %s%s%s\n", prefix, strings.TrimSpace(cause), left)

	if try != "" {
		fmt.Fprintf(w, "  try: %s\n", try)
	}
}

// UsageError is an error in the arguments. It names the help of the command.
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s; see %s --help", fmt.Sprintf(format, args...), cmd.CommandPath())
}
