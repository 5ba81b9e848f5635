// SPDX-License-Identifier: Apache-2.0

// Package etcd holds the controllers of the etcd member of this node.
//
// What etcd does when it starts follows from two values: what its data directory holds, and whether the one-time wish
// to start a cluster was made. A directory with data is started as it is, by itself, after each boot; an empty one
// waits for the wish. decide and CheckBootstrap are that choice, as functions of values. The wish may be to begin with a
// snapshot, see KeepSnapshot; and a member that had data once is not started without it, see member.
package etcd

import (
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/resources/block"
)

// Where etcd's files are, on the node and in its container alike.
const (
	DataDir = settings.DataDir
	PKIDir  = settings.PKIDir
)

// ServiceID of etcd; the name users know.
const ServiceID = "etcd"

// mountID is the id of the handshake for the disk that the data directory is on.
const mountID = ServiceID + "-" + block.VolumeEphemeral

// Ports of etcd.
const (
	peerPort = settings.PeerPort
	// healthPort serves metrics and health apart from clients.
	healthPort = settings.HealthPort
)
