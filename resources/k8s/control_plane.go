// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var apiServerConfigDefinition = controlPlane.Sensitive().Type("APIServerConfigs")

// APIServerConfigSpec is the API server's settings; the final copy also has its command line.
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

var controllerManagerConfigDefinition = controlPlane.Sensitive().Type("ControllerManagerConfigs")

// ControllerManagerConfigSpec is the controller manager's settings; the final copy also has its command line.
type ControllerManagerConfigSpec struct {
	Enabled              bool                 `yaml:"enabled" protobuf:"1"`
	Image                string               `yaml:"image" protobuf:"2"`
	CloudProvider        string               `yaml:"cloudProvider" protobuf:"3"`
	PodCIDRs             []string             `yaml:"podCIDRs" protobuf:"4"`
	ServiceCIDRs         []string             `yaml:"serviceCIDRs" protobuf:"5"`
	ExtraVolumes         []ExtraVolume        `yaml:"extraVolumes" protobuf:"7"`
	EnvironmentVariables map[string]string    `yaml:"environmentVariables" protobuf:"8"`
	Resources            Resources            `yaml:"resources" protobuf:"9"`
	ExtraArgs            map[string]ArgValues `yaml:"extraArgs" protobuf:"10"`
	Args                 []string             `yaml:"args" protobuf:"11"`
	NodeCIDRMaskSizeIPv4 int                  `yaml:"nodeCIDRMaskSizeIPv4" protobuf:"12"`
	NodeCIDRMaskSizeIPv6 int                  `yaml:"nodeCIDRMaskSizeIPv6" protobuf:"13"`
}

// Definition implements resource.Spec.
func (ControllerManagerConfigSpec) Definition() *resource.Definition {
	return controllerManagerConfigDefinition
}

var schedulerConfigDefinition = controlPlane.Sensitive().Type("SchedulerConfigs")

// SchedulerConfigSpec is the scheduler's settings; the final copy also has its command line.
type SchedulerConfigSpec struct {
	Enabled              bool                 `yaml:"enabled" protobuf:"1"`
	Image                string               `yaml:"image" protobuf:"2"`
	ExtraVolumes         []ExtraVolume        `yaml:"extraVolumes" protobuf:"4"`
	EnvironmentVariables map[string]string    `yaml:"environmentVariables" protobuf:"5"`
	Resources            Resources            `yaml:"resources" protobuf:"6"`
	Config               map[string]any       `yaml:"config" protobuf:"7"`
	ExtraArgs            map[string]ArgValues `yaml:"extraArgs" protobuf:"8"`
	Args                 []string             `yaml:"args" protobuf:"9"`
}

// Definition implements resource.Spec.
func (SchedulerConfigSpec) Definition() *resource.Definition { return schedulerConfigDefinition }

// ArgValues are the values of one command line flag; more than one repeats it.
type ArgValues struct {
	Values []string `yaml:"values" protobuf:"1"`
}

// Args are the extra arguments of a component, by flag without dashes.
type Args = map[string]ArgValues

// ExtraVolume is a host path that is mounted into a control plane component.
type ExtraVolume struct {
	Name      string `yaml:"name"      protobuf:"1"`
	HostPath  string `yaml:"hostPath"  protobuf:"2"`
	MountPath string `yaml:"mountPath" protobuf:"3"`
	ReadOnly  bool   `yaml:"readonly"  protobuf:"4"`
}

// Resources are the resource requests and limits of a container.
type Resources struct {
	Requests map[string]string `yaml:"requests" protobuf:"1"`
	Limits   map[string]string `yaml:"limits"   protobuf:"2"`
}

var secretsStatusDefinition = controlPlane.Type("SecretStatuses", "Ready={.ready}", "Secrets Version={.version}")

// SecretsStatusSpec exists when the static pods' keys and certificates are on disk.
type SecretsStatusSpec struct {
	Ready   bool   `yaml:"ready" protobuf:"1"`
	Version string `yaml:"version" protobuf:"2"`
}

// Definition implements resource.Spec.
func (SecretsStatusSpec) Definition() *resource.Definition { return secretsStatusDefinition }

var configStatusDefinition = controlPlane.Type("ConfigStatuses", "Ready={.ready}", "Config Version={.version}")

// ConfigStatusSpec exists when the static pods' configuration files are on disk.
type ConfigStatusSpec struct {
	Ready   bool   `yaml:"ready" protobuf:"1"`
	Version string `yaml:"version" protobuf:"2"`
}

// Definition implements resource.Spec.
func (ConfigStatusSpec) Definition() *resource.Definition { return configStatusDefinition }
