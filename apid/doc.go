// SPDX-License-Identifier: Apache-2.0

// Package apid is the machine's API as the network sees it: a router on port 50000 that speaks mutual TLS 1.3 to the world and passes
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
// The port is open to the world, and apid's cgroup ends it at 128 MiB: every call of the node and, through it, of others would end with
// it. Its defences are those that three measured attacks need (hostile_test.go, rates_test.go):
//
//   - Ten thousand connections that show no certificate: silent ones, half a handshake, garbage. Handshakes of a host in a time are bounded
//     (a host of IPv6 is its /64), and of all together that were not admitted lately (rates.go); pending connections are, of which the oldest
//     of the host with most goes first; admitted ones are, in all and for each host (listener.go); and so are lines of log (log.go).
//     A limit on connections alone, such as netutil.LimitListener, is what locks the administrator out.
//   - An administrator's client that sends sixteen messages of 24 MiB at once, each of them allowed: with the bounds of gRPC and GOMEMLIMIT
//     alone apid needs 383 MiB. One message may have 32 MiB and one connection 256 calls, whose product is 8 GiB; GOMEMLIMIT bounds only
//     garbage, and a message cannot be refused before it is complete. So what comes in is counted, with each MiB of it memory is looked at
//     before more is taken in, and when it is short the connections that hold most are shed (pressure.go, load.go): 95 MiB.
//   - Clients that ask for the longest answers, 400 at once, and read none: 246 MiB without shedding, for which what waits to be
//     written counts as held, and 102 MiB with it.
//
// Nothing a caller says makes this node dial another port than 50000.
package apid
