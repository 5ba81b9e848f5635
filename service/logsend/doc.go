// SPDX-License-Identifier: Apache-2.0

// Package logsend sends logs to servers, as one JSON object for each line: over TCP with a newline after each object, over UDP one object
// in each packet. An object has the fields msg, talos-level and talos-time, that of a service also talos-service. The other fields are
// those of the line, when it is a JSON object itself, and the tags of the server.
//
// A Sender has the connection to one server, and blocks until the server takes an object. The kernel's log is read as fast as its server
// takes it: the kernel keeps what is not read yet. Services never wait: their lines go through a Queue for each server, which has a limit
// and counts the lines that were lost.
//
// There is no acknowledgement in either protocol: objects that the server's kernel has taken, but not its program, are lost when the
// server goes.
package logsend
