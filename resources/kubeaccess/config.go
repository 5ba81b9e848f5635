// SPDX-License-Identifier: Apache-2.0

// Package kubeaccess holds the settings of the access that pods have to the API of the machines.
package kubeaccess

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// ConfigID is the id of the settings.
const ConfigID = "config"

var configDefinition = definition.Domain{Group: "cluster.talos.dev", Namespace: "config"}.Type("KubernetesAccessConfigs")

// ConfigSpec says which pods may call the API of the machines, and with which roles.
type ConfigSpec struct {
	Enabled                     bool     `yaml:"enabled" protobuf:"1"`
	AllowedAPIRoles             []string `yaml:"allowedAPIRoles" protobuf:"2"`
	AllowedKubernetesNamespaces []string `yaml:"allowedKubernetesNamespaces" protobuf:"3"`
}

// Definition implements resource.Spec.
func (ConfigSpec) Definition() *resource.Definition { return configDefinition }

// Register makes the types of the domain known to this process.
func Register() error { return resource.Register[ConfigSpec]() }
