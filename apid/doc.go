// SPDX-License-Identifier: Apache-2.0

// Package apid is the machine's front door: a router on port 50000 that speaks mutual TLS 1.3 to the world and passes
// each call on, byte for byte, to machined's socket or, when the caller names another node in the `node` metadata, to
// the apid of that node.
//
// Old clients name several nodes at once, in the `nodes` metadata. Their answers become one, again without being
// decoded: each gets the name of its node, and a node that fails, hangs or sends damage has an error for its answer and
// costs the others nothing. A call that was forwarded once (`proxyfrom`) is forwarded no more. A worker, which holds no
// client certificate, forwards nothing.
//
// It runs as a process of its own, with its own user and no capabilities, and knows only what the resource socket
// shows it: its certificates, how to listen, and the addresses that are this node. All of it may change while calls
// run: each new connection is served by what is true then. What runs goes on while its caller would be let in, and ends
// within a second of the end of the caller's certificate, of the authority that signed it, or of maintenance mode.
//
// Who a caller is stands in the client certificate, signed by one of the accepted CAs: the values of its subject's
// organization are the roles, which travel to machined in the `talos-role` metadata. Only another apid, whose
// certificate holds os:impersonator and nothing else, may pass on the roles of its own caller. What a role may do is not
// known here: machined decides.
//
// The port is open to the world, so everything behind it is bounded: handshakes of a host in a time (a host of IPv6 is
// its /64), and of all that were not inside lately; connections that have not shown a certificate, of which the oldest of
// the greediest host goes first; those that have, in all and for each host; calls of one connection; messages, metadata and lines of log. What comes in is counted, and with each step of it memory is looked
// at, before more is taken in. When it is short in spite of all bounds, the connections that hold most of it are cut
// off. Nothing a caller says makes this node dial another port than 50000.
package apid
