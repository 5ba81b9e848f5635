// SPDX-License-Identifier: Apache-2.0

// Package ctl is the command line talosctl, one command a file.
//
// A command that talks to machines embeds connection, which gives it the common flags, and does its work in a function
// of one node: connection.each runs that function for all nodes at once, prints what each has as it comes, and
// reports the nodes that failed at the end. Tables and lines go to standard output, all that is said about the work
// itself to standard error. The exit status is 0 if every node succeeded, 1 if one failed, 130 after Ctrl-C.
package ctl
