// SPDX-License-Identifier: Apache-2.0

// Package etcd holds the controllers of the etcd member of this node.
//
// How etcd starts depends on three values: whether its data directory has data, whether the one-time request to start a cluster was made,
// and whether this machine was added to a cluster. With data, etcd starts after each boot. Without data, it waits for one of the others.
// The functions decide and CheckBootstrap make that choice. The request may be to begin with a snapshot, see KeepSnapshot. A member that
// once had data is not started without it, see Runner.
//
// The membership controller adds and removes this machine's member, by the state machine membership. What it does and waits for is the
// resource EtcdMembershipStatuses local. The other members are EtcdMemberStatuses. Package quorum decides what may be taken away.
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

// mountID is the id of the VolumeMountRequest for the volume of the data directory.
const mountID = ServiceID + "-" + block.VolumeEphemeral

// Ports of etcd.
const (
	peerPort = settings.PeerPort
	// healthPort serves metrics and health apart from clients.
	healthPort = settings.HealthPort
)
