// SPDX-License-Identifier: Apache-2.0

// Package ctl is the command line talosctl: the root command, which puts the topics together.
//
// A topic is a package beside this one, with a function Commands that returns its commands, one command a file. Topics share what
// is in ctl/session, which says how commands reach machines and print, and do not import each other. What a topic adds to a support
// bundle is its function Files.
//
// The exit status is 0 if every node succeeded, 1 if one failed, 130 after Ctrl-C. Then no error is printed, but what is left half done
// (session.Unfinished).
package ctl
