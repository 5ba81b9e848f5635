// SPDX-License-Identifier: Apache-2.0

// Package session is what the commands of talosctl share: which machines they talk to, and how they print the answers.
//
// A run of talosctl is one command, so there is one Session. Its flags select the machines, the connection and the output format. A
// command does its work in a function of one Node: Each runs it for all nodes at once, InTurn for one node after the other, and One
// for a single node. The failures of the nodes are printed at the end, each as a NodeFailure. Report keeps the output about a node
// together, and Lines prints lines with the name of their node in front.
//
// A list is a table: columns, and a function that fetches the rows. The function is often a method of Node, so its first argument
// is the node. List prints the table in the format of --output, and aligns the rows of nodes that answer at about the same time.
// TableFile makes the same table a file of a support bundle.
//
// Answers are printed to standard output, messages about the work itself to standard error.
package session
