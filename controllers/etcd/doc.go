// SPDX-License-Identifier: Apache-2.0

// Package etcd holds the controllers of the etcd member of this node.
//
// What etcd does when it starts follows from three values: what its data directory holds, whether the one-time wish
// to start a cluster was made, and where the other control planes are. A directory with data is started as it is, by
// itself, after each boot; an empty one waits for the wish, or joins a cluster that is there. Start and CheckBootstrap
// are that decision, as functions of values.
package etcd

// Where etcd's files are, on the node and in its container alike.
const (
	DataDir = "/var/lib/etcd"
	PKIDir  = "/system/secrets/etcd"
	// UID that etcd runs as and that owns both.
	UID = 60
)

// ServiceID of etcd; the name users know.
const ServiceID = "etcd"

// Ports of etcd.
const (
	clientPort = 2379
	peerPort   = 2380
	// healthPort serves metrics and health apart from clients.
	healthPort = 2383
)
