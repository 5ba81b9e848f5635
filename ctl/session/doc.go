// SPDX-License-Identifier: Apache-2.0

// Package session is what the commands of talosctl share: the machines that they talk to, and how they print what these answer.
//
// A run of talosctl is one command, so there is one Session. Its flags say which machines to talk to, how, and in which form to
// print. A command does its work in a function of one Node: Each runs it for all nodes at once, InTurn for one after the other,
// One for the only one; the failures of the nodes come at the end, each as a NodeFailure. Report keeps together what is written
// about a node, and Lines prints lines with their node in front.
//
// What nodes list is a table: columns, and a call that fetches the rows, which often is a method of Node and so takes the node
// first. List prints it as --output says; rows of nodes that answer at about the same time are aligned. The same table can be a
// file of a support bundle (TableFile).
//
// Answers go to standard output, all that is said about the work itself to standard error.
package session
