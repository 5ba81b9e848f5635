// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/seed-59268b81/talos/cosi/resource"

// InfoID is the id of the only Info.
const InfoID = "current"

var infoDefinition = domain.Type("Infos", "Cluster ID={.clusterId}", "Cluster Name={.clusterName}")

// InfoSpec is the cluster that the machine belongs to.
type InfoSpec struct {
	ClusterID   string `yaml:"clusterId" protobuf:"1"`
	ClusterName string `yaml:"clusterName" protobuf:"2"`
}

// Definition implements resource.Spec.
func (InfoSpec) Definition() *resource.Definition { return infoDefinition }
