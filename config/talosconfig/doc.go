// SPDX-License-Identifier: Apache-2.0

// Package talosconfig is the client's configuration file: the clusters a person can talk to.
//
// Each context names endpoints to dial, nodes to ask for, and a client certificate with the authority
// that the nodes are checked against. Certificates are base64 of PEM in the file and PEM in memory.
// Path tells which file is meant, Load reads it, Save replaces it whole (a reader sees the old file or
// the new one) and private to its owner, Merge takes in another file and renames what collides.
package talosconfig
