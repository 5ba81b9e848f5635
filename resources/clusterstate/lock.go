// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var lockDefinition = domain.Type("ClusterLocks", "Holder={.holder}", "Since={.since}")

// LockSpec is a lock of the cluster that a node holds; its id is the name of the lock. etcd deletes it together with the lock.
type LockSpec struct {
	// Holder is the hostname of the node.
	Holder string `yaml:"holder" protobuf:"1"`
	// Since is when the node acquired the lock, by its clock.
	Since time.Time `yaml:"since" protobuf:"2"`
}

// Definition implements resource.Spec.
func (LockSpec) Definition() *resource.Definition { return lockDefinition }
