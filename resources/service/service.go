// SPDX-License-Identifier: Apache-2.0

// Package service holds the resources of services. Their type is in the API group v1alpha1, which existing clients use.
package service

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

var serviceDefinition = definition.Domain{Group: "v1alpha1.talos.dev", Namespace: "runtime"}.Alias("svc").Type("Services",
	"Running={.running}", "Healthy={.healthy}", "Health Unknown={.unknown}")

// ServiceSpec is the state of a service that the supervisor knows; its id is that of the service.
type ServiceSpec struct {
	Running bool `yaml:"running" protobuf:"1"`
	Healthy bool `yaml:"healthy" protobuf:"2"`
	Unknown bool `yaml:"unknown" protobuf:"3"`
}

// Definition implements resource.Spec.
func (ServiceSpec) Definition() *resource.Definition { return serviceDefinition }

// Up reports whether the service runs and is healthy, or runs and its health is unknown.
func (s ServiceSpec) Up() bool { return s.Running && (s.Healthy || s.Unknown) }

// Register makes the domain's types known to this process.
func Register() error { return resource.Register[ServiceSpec]() }
