// SPDX-License-Identifier: Apache-2.0

// Package files holds the resources of the files in /etc that differ between machines.
package files

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the files' resources.
const NamespaceName = "files"

var domain = definition.Domain{Group: "files.talos.dev", Namespace: NamespaceName}

// The ids of files.
const (
	Hosts      = "hosts"
	Hostname   = "hostname"
	ResolvConf = "resolv.conf"
	MachineID  = "machine-id"
	// CABundle has the authorities that the machine trusts: those of the image, and those of the configuration.
	CABundle = "ssl/certs/ca-certificates.crt"
	// PodResolvConf is the resolv.conf that the kubelet gives to pods. It is not in /etc.
	PodResolvConf = "pod-resolv.conf"
)

// PodResolvConfPath is the path of PodResolvConf. Its folder may be mounted into containers, which then see each change.
const PodResolvConfPath = layout.ResolvConf

// Register makes the types of the domain known to this process.
func Register() error {
	return errors.Join(
		resource.Register[EtcFileSpecSpec](),
		resource.Register[EtcFileStatusSpec](),
	)
}
