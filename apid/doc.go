// SPDX-License-Identifier: Apache-2.0

// Package apid is the machine's API on the network: a router on port 50000 that requires mutual TLS 1.3. It forwards each call,
// byte for byte, to machined's socket or, when the `node` metadata names another node, to the apid of that node.
//
// Old clients name several nodes at once, in the `nodes` metadata. Their answers are combined without decoding them: each gets
// the name of its node, and a node that fails, hangs or sends damaged data has an error as its answer and does not affect the
// others. A call that was forwarded once (`proxyfrom`) is not forwarded again. A worker has no client certificate and forwards
// nothing. A node may be named by the name of a member of the cluster, which needs no DNS; its certificate must have that name.
//
// apid is a process of its own, with its own user and no capabilities. It reads from the resource socket its certificates, its
// listen address, and the addresses of this node. All of them may change while calls run: a new connection is served by the
// present values. A running call continues while its caller would still be admitted. It ends within a second of the end of the
// caller's certificate, of the authority that signed it, or of maintenance mode.
//
// The client certificate, signed by one of the accepted CAs, identifies the caller: the values of its subject's organization are
// the roles, which are passed to machined in the `talos-role` metadata. Only another apid, whose certificate has os:impersonator
// and no other role, may pass on the roles of its own caller. machined decides what a role may do.
//
// The port is open to everyone, and the kernel kills apid when its cgroup reaches 128 MiB, which ends all calls to the node and
// through it. Its defences are those that three measured attacks require (hostile_test.go, rates_test.go):
//
//   - Ten thousand connections without a certificate: silent, in the middle of a handshake, or garbage. There are limits on the
//     rate of handshakes, for each host (an IPv6 host is its /64) and for all hosts together that were not admitted lately
//     (rates.go), on pending connections, of which the oldest one of the host with most is shed first, on admitted connections,
//     in all and for each host (listener.go), and on lines in the log (log.go). A limit on connections alone, such as
//     netutil.LimitListener, locks the administrator out.
//   - An administrator's client that sends sixteen messages of 24 MiB at once, which are all allowed: with the limits of gRPC and
//     GOMEMLIMIT alone apid needs 383 MiB. One message may have 32 MiB and one connection 256 calls, together 8 GiB. GOMEMLIMIT
//     limits only garbage, and a message cannot be refused before it is complete. So received bytes are counted, memory is
//     checked with each MiB before more is received, and when it is short the connections that hold most are shed (pressure.go,
//     load.go): apid needs 95 MiB.
//   - Clients that request the longest answers, 400 at once, and read none: 246 MiB without shedding, and 102 MiB with it, as
//     unread answers count as held.
//
// No call can make this node dial another port than 50000.
package apid
