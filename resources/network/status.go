// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var statusDefinition = domain.Alias("netstatus", "netstatuses").Type("NetworkStatuses",
	"Address={.addressReady}", "Connectivity={.connectivityReady}", "Hostname={.hostnameReady}", "Etc={.etcFilesReady}")

// StatusSpec is which parts of the network are ready.
type StatusSpec struct {
	AddressReady      bool `yaml:"addressReady" protobuf:"1"`
	ConnectivityReady bool `yaml:"connectivityReady" protobuf:"2"`
	HostnameReady     bool `yaml:"hostnameReady" protobuf:"3"`
	EtcFilesReady     bool `yaml:"etcFilesReady" protobuf:"4"`
}

// Definition implements resource.Spec.
func (StatusSpec) Definition() *resource.Definition { return statusDefinition }

// Ready reports whether every part is ready.
func (s StatusSpec) Ready() bool {
	return s.AddressReady && s.ConnectivityReady && s.HostnameReady && s.EtcFilesReady
}
