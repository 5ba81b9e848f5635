// SPDX-License-Identifier: Apache-2.0

// Package talosconfig reads and writes the client's configuration file.
//
// Each context has the endpoints to dial, the nodes to address, and a client certificate with the authority that
// the nodes' certificates are checked against. Certificates are base64 of PEM in the file and PEM in memory. Path
// returns the path of the file, Load reads it, Save replaces it atomically with a file that only its owner can
// read, and Merge merges another file and renames contexts whose names collide.
package talosconfig
