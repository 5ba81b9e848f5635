// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// APIServiceConfigID is the id of the only one.
const APIServiceConfigID = "apid"

var apiServiceConfigDefinition = &resource.Definition{
	Type:             "APIServiceConfigs.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Listen Address", JSONPath: "{.listenAddress}"},
		{Name: "Node Routing Disabled", JSONPath: "{.nodeRoutingDisabled}"},
		{Name: "Readonly Role Mode", JSONPath: "{.readonlyRoleMode}"},
		{Name: "Skip Verifying Client Cert", JSONPath: "{.skipVerifyingClientCert}"},
	},
}

// APIServiceConfigSpec is how apid listens and whom it lets in.
type APIServiceConfigSpec struct {
	ListenAddress           string `yaml:"listenAddress"           protobuf:"1"`
	NodeRoutingDisabled     bool   `yaml:"nodeRoutingDisabled"     protobuf:"2"`
	ReadonlyRoleMode        bool   `yaml:"readonlyRoleMode"        protobuf:"3"`
	SkipVerifyingClientCert bool   `yaml:"skipVerifyingClientCert" protobuf:"4"`
}

// Definition implements resource.Spec.
func (APIServiceConfigSpec) Definition() *resource.Definition { return apiServiceConfigDefinition }
