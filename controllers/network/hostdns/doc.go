// SPDX-License-Identifier: Apache-2.0

// Package hostdns is the machine's own DNS server: it answers the names that the machine knows, asks other servers for all else, and keeps
// their answers.
//
// A Resolver turns a query into an answer. A Server receives queries over UDP and TCP. A Client asks the other servers (upstreams), over
// UDP and TCP, TLS (RFC 7858) or HTTPS (RFC 8484).
//
// Everything has a limit: the size of the cache, the queries that run at the same time, connections, messages and times. The package has
// no goroutine that could end the process: messages come from outside, and a panic of their parser fails one query.
//
// github.com/miekg/dns reads and writes messages. Its server is not used: it starts goroutines without a guard and without a limit.
// CoreDNS as a library was rejected, because it would bring Caddy.
package hostdns

import "time"

// Limits.
const (
	// maxQueries is the number of queries of one listener that are answered at the same time. More are dropped: the client repeats them.
	maxQueries = 256
	// maxConns is the number of TCP connections of one listener.
	maxConns = 64
	// maxCache is the size of all kept answers, in bytes.
	maxCache = 4 << 20
	// maxDatagram is the size of the largest UDP message: what fits into one packet on any path (DNS flag day 2020).
	maxDatagram = 1232
	// maxMessage is the size of the largest message.
	maxMessage = 65535

	// queryTimeout is the time for an answer. The C library waits for 5 seconds before it repeats a query.
	queryTimeout = 4500 * time.Millisecond
	// shortTimeout is the time for an answer if there is an old one (RFC 8767, 5), or if no upstream answered a short time ago: programs ask
	// again, name after name, and a machine without a way out must not wait for each.
	shortTimeout = 1800 * time.Millisecond
	// firstTry is how long an upstream may take over UDP before the query is sent again: a packet may be lost.
	firstTry = time.Second
	// stagger is how long one upstream may take before the next is asked too.
	stagger = 500 * time.Millisecond
	// avoided is how long an upstream that failed, or was slower than another one, is asked last.
	avoided = 30 * time.Second
	// idleTime is how long a connection without queries stays open.
	idleTime = 10 * time.Second
	// writeTimeout is the time in which a client takes an answer.
	writeTimeout = 5 * time.Second

	// maxTTL and maxNegativeTTL are how long an answer, or the answer that there is none, is kept at most.
	maxTTL         = 24 * time.Hour
	maxNegativeTTL = time.Hour
	// maxStale is how long after its time an answer is used if no upstream answers, and staleTTL what clients are told (RFC 8767).
	maxStale = 24 * time.Hour
	staleTTL = 30
	// ownTTL is the time to live, in seconds, of the names that the machine knows.
	ownTTL = 10
)
