// SPDX-License-Identifier: Apache-2.0

// Package cosi is the root of a library for programs that consist of state and of control loops: typed resources in a
// store, and controllers, each of which reads some resources and owns others. The library knows nothing about operating
// systems. The operating system around it is built on it; any other control plane can be too.
//
//	resource    the model: a spec that is a plain struct, with an identity, version, owner, phase, finalizers, labels
//	state       the contract of a store: read, write, watch, tear down
//	memory      a store in memory; the fastest
//	bolt        the same, and in a file
//	etcd        a store in etcd, shared by processes on many machines
//	namespaced  one store made of several, by namespace
//	remote      a store in another process, over gRPC; server is its other end
//	access      a rule in front of a store
//	typed       reads and writes by Go type
//	controller  the contract of controllers
//	runtime     runs controllers: wakes them, watches what they touch, restarts them
//	transform   controllers from one pure function
//	cositest    tests of controllers
//	cosiprom    metrics for Prometheus; cosiotel: traces for OpenTelemetry. The rest does not depend on them
//	introspect  the counters of controllers as resources
//	meta        resources that describe types, namespaces and failing controllers, for clients
//	conformance the tests that every store passes
//	mutation    finds, in tests, code that writes into versions that readers share
//
// # In five minutes
//
// A type is a struct with a Definition. The tags give its YAML and protobuf forms:
//
//	type CertificateSpec struct {
//		Host    string    `yaml:"host"    protobuf:"1"`
//		Expires time.Time `yaml:"expires" protobuf:"2"`
//	}
//
//	var certificateDefinition = &resource.Definition{Type: "Certificates.example.org", DefaultNamespace: "default"}
//
//	func (CertificateSpec) Definition() *resource.Definition { return certificateDefinition }
//
// A program whose resources come from outside (a file, etcd or another process) registers its types at the start, before
// it opens a store:
//
//	err := resource.Register[CertificateSpec]()
//
// Resources that are read are immutable and shared: a Get copies nothing. A change is made by a function that gets a
// private copy. When the function changes nothing, nothing is stored and no controller is woken:
//
//	err := typed.Modify(ctx, st, "", "example.org", func(c *CertificateSpec) error {
//		if time.Until(c.Expires) < 30*24*time.Hour {
//			c.Expires = time.Now().AddDate(0, 3, 0)
//		}
//		return nil
//	})
//
// A resource has one owner, the controller that created it; only the owner may write it. A controller that depends on the
// resource adds a finalizer. The owner tears the resource down, and destroys it when the last finalizer is removed.
//
// README.md has a whole program. The examples below, and those of the packages, show the rest. No code defines the order
// in which controllers run: each acts when its inputs exist.
package cosi
