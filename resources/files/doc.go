// SPDX-License-Identifier: Apache-2.0

// Package files holds the resources of the few files under /etc that differ between machines.
package files

import (
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the files' resources.
const NamespaceName = "files"

var domain = definition.Domain{Group: "files.talos.dev", Namespace: NamespaceName}

// The ids of the files that the network makes.
const (
	Hosts      = "hosts"
	Hostname   = "hostname"
	ResolvConf = "resolv.conf"
	MachineID  = "machine-id"
	// PodResolvConf is not in /etc: it is the resolv.conf that the kubelet gives to pods.
	PodResolvConf = "pod-resolv.conf"
)

// PodResolvConfPath is where the kubelet finds PodResolvConf. Its folder may be mounted into containers, which
// then see each change.
const PodResolvConfPath = layout.ResolvConf
