// SPDX-License-Identifier: Apache-2.0

// Package cosi is the root of a library for programs that are made of state and of loops that keep it true: typed
// resources in a store, and controllers, each of which reads some and owns others. It knows nothing of operating
// systems; the one around it is built on it, and so can any control plane be.
//
//	resource    the model: a spec that is a plain struct, with an identity, version, owner, phase, finalizers, labels
//	state       the contract of a store: read, write, watch, tear down
//	memory      a store in memory; the fastest
//	bolt        the same, and in a file
//	etcd        a store in etcd, shared by processes on many machines
//	namespaced  one store made of several, by namespace
//	remote      a store in another process, over gRPC; server is its other end
//	access      a rule before a store
//	typed       reads and writes by Go type
//	controller  the contract of controllers
//	runtime     runs controllers: wakes them, watches what they touch, restarts them
//	transform   controllers out of one pure function
//	cositest    tests of controllers
//	cosiprom    metrics for Prometheus; cosiotel: traces for OpenTelemetry. The rest does not depend on them
//	introspect  the counters of controllers as resources
//	meta        resources that describe types, namespaces and failing controllers, for clients
//	conformance the tests that every store passes
//	mutation    finds, in tests, who writes into versions that readers share
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
// A program whose resources come from outside, out of a file, etcd or another process, makes its types known at the start,
// before it opens a store:
//
//	err := resource.Register[CertificateSpec]()
//
// What is read is immutable and shared: a Get copies nothing. What is changed is changed in a function that gets a
// private copy, and nothing is stored, and nobody woken, when nothing changed:
//
//	err := typed.Modify(ctx, st, "", "example.org", func(c *CertificateSpec) error {
//		if time.Until(c.Expires) < 30*24*time.Hour {
//			c.Expires = time.Now().AddDate(0, 3, 0)
//		}
//		return nil
//	})
//
// A resource has one owner, the controller that made it, and nobody else may write it. Who depends on it holds a
// finalizer; who wants it gone tears it down, and destroys it when the last finalizer is gone.
//
// README.md has a whole program. The examples below, and those of the packages, show the rest. The order in which things happen is written nowhere: it emerges, because a
// controller acts when its inputs are there.
package cosi
