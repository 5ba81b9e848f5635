// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var apiServerConfigDefinition = &resource.Definition{
	Type:             "APIServerConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// APIServerConfigSpec is the API server's settings; the final copy also has its arguments.
type APIServerConfigSpec struct {
	Image                   string               `yaml:"image" protobuf:"1"`
	CloudProvider           string               `yaml:"cloudProvider" protobuf:"2"`
	ControlPlaneEndpoint    string               `yaml:"controlPlaneEndpoint" protobuf:"3"`
	EtcdServers             []string             `yaml:"etcdServers" protobuf:"4"`
	LocalPort               int                  `yaml:"localPort" protobuf:"5"`
	ServiceCIDRs            []string             `yaml:"serviceCIDR" protobuf:"6"`
	ExtraVolumes            []ExtraVolume        `yaml:"extraVolumes" protobuf:"8"`
	EnvironmentVariables    map[string]string    `yaml:"environmentVariables" protobuf:"9"`
	AdvertisedAddress       string               `yaml:"advertisedAddress" protobuf:"11"`
	Resources               Resources            `yaml:"resources" protobuf:"12"`
	ExtraArgs               map[string]ArgValues `yaml:"extraArgs" protobuf:"13"`
	StartupProbesEnabled    bool                 `yaml:"startupProbesEnabled" protobuf:"14"`
	UseAuthenticationConfig bool                 `yaml:"useAuthenticationConfig" protobuf:"15"`
	Args                    []string             `yaml:"args" protobuf:"16"`
}

// Definition implements resource.Spec.
func (APIServerConfigSpec) Definition() *resource.Definition { return apiServerConfigDefinition }
