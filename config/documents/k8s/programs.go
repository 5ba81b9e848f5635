// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// KubeAPIServerConfig sets up the API server.
type KubeAPIServerConfig struct {
	document.Header `yaml:",inline"`
	// The image of the program; the release's own without it.
	Image value.Image `yaml:"image,omitempty" maps:"cluster.apiServer.image"`
	// Flags of the program, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs v1alpha1.ExtraArgs `yaml:"extraArgs,omitempty" maps:"cluster.apiServer.extraArgs"`
	// Environment variables.
	Env map[string]string `yaml:"env,omitempty" maps:"cluster.apiServer.env"`
	// CPU and memory that the pod requests and is limited to, as Kubernetes writes them.
	Resources v1alpha1.Resources `yaml:"resources,omitempty" maps:"cluster.apiServer.resources"`
	// The port that the API server listens on; 6443 without it.
	APIPort int `yaml:"apiPort,omitempty" range:"1,65535" maps:"cluster.controlPlane.localAPIServerPort"`
	// More names and addresses for the API server's certificate.
	CertExtraSANs []value.SAN `yaml:"certExtraSANs,omitempty" maps:"cluster.apiServer.certSANs"`
	// Whether the kubelet gives the API server time to start before it checks that it lives; it does without this key.
	StartupProbes *bool `yaml:"startupProbes,omitempty"`
}

var apiServer = document.Of[KubeAPIServerConfig]("KubeAPIServerConfig", `apiVersion: v1alpha1
kind: KubeAPIServerConfig
extraArgs:
    event-ttl: 2h
certExtraSANs:
    - api.example.com
`, document.ControlPlane)

// KubeControllerManagerConfig sets up the controller manager.
type KubeControllerManagerConfig struct {
	document.Header `yaml:",inline"`
	// Whether the machine runs it; it does without this key.
	Enabled *bool `yaml:"enabled,omitempty" maps:"!machine.controlPlane.controllerManager.disabled"`
	// The image of the program; the release's own without it.
	Image value.Image `yaml:"image,omitempty" maps:"cluster.controllerManager.image"`
	// Flags of the program, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs v1alpha1.ExtraArgs `yaml:"extraArgs,omitempty" maps:"cluster.controllerManager.extraArgs"`
	// Environment variables.
	Env map[string]string `yaml:"env,omitempty" maps:"cluster.controllerManager.env"`
	// CPU and memory that the pod requests and is limited to, as Kubernetes writes them.
	Resources v1alpha1.Resources `yaml:"resources,omitempty" maps:"cluster.controllerManager.resources"`
}

var controllerManager = document.Of[KubeControllerManagerConfig]("KubeControllerManagerConfig", `apiVersion: v1alpha1
kind: KubeControllerManagerConfig
extraArgs:
    node-monitor-grace-period: 40s
`, document.ControlPlane)

// KubeSchedulerConfig sets up the scheduler.
type KubeSchedulerConfig struct {
	document.Header `yaml:",inline"`
	// Whether the machine runs it; it does without this key.
	Enabled *bool `yaml:"enabled,omitempty" maps:"!machine.controlPlane.scheduler.disabled"`
	// The image of the program; the release's own without it.
	Image value.Image `yaml:"image,omitempty" maps:"cluster.scheduler.image"`
	// Flags of the program, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs v1alpha1.ExtraArgs `yaml:"extraArgs,omitempty" maps:"cluster.scheduler.extraArgs"`
	// Environment variables.
	Env map[string]string `yaml:"env,omitempty" maps:"cluster.scheduler.env"`
	// CPU and memory that the pod requests and is limited to, as Kubernetes writes them.
	Resources v1alpha1.Resources `yaml:"resources,omitempty" maps:"cluster.scheduler.resources"`
	// A KubeSchedulerConfiguration, as Kubernetes documents it, without apiVersion and kind.
	Config v1alpha1.Object `yaml:"config,omitempty" maps:"cluster.scheduler.config"`
}

var scheduler = document.Of[KubeSchedulerConfig]("KubeSchedulerConfig", `apiVersion: v1alpha1
kind: KubeSchedulerConfig
config:
    profiles:
        - schedulerName: default-scheduler
          plugins:
            score:
                disabled:
                    - name: ImageLocality
`, document.ControlPlane)

// KubeProxyConfig sets up kube-proxy, which carries traffic to Services.
type KubeProxyConfig struct {
	document.Header `yaml:",inline"`
	// Whether the cluster has it; it does without this key.
	Enabled *bool `yaml:"enabled,omitempty" maps:"!cluster.proxy.disabled"`
	// The image; the release's own without it.
	Image value.Image `yaml:"image,omitempty" maps:"cluster.proxy.image"`
	// How traffic is carried.
	Mode ProxyMode `yaml:"mode,omitempty" maps:"cluster.proxy.mode"`
	// A KubeProxyConfiguration, as Kubernetes documents it, without apiVersion and kind. With it kube-proxy takes no extraArgs.
	Config v1alpha1.Object `yaml:"config,omitempty"`
	// Flags, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs v1alpha1.ExtraArgs `yaml:"extraArgs,omitempty" maps:"cluster.proxy.extraArgs"`
	// CPU and memory that the pods request and are limited to, as Kubernetes writes them.
	Resources v1alpha1.Resources `yaml:"resources,omitempty"`
}

// Validate implements document.Validator. With a configuration file, kube-proxy ignores its flags.
func (c *KubeProxyConfig) Validate(r *document.Report) {
	if len(c.Config) == 0 {
		return
	}

	if len(c.ExtraArgs) > 0 {
		r.Wrong("extraArgs", "kube-proxy ignores flags where it has a config: set the same there")
	}

	if mode := c.Config["mode"]; c.Mode != "" && mode != nil && mode != string(c.Mode) {
		r.Wrong("config.mode", "%v is not the mode %s of the document: remove one of the two", mode, c.Mode)
	}
}

// ProxyMode is how kube-proxy carries traffic.
type ProxyMode string

// The modes.
const (
	ProxyModeIPTables ProxyMode = "iptables"
	ProxyModeIPVS     ProxyMode = "ipvs"
	ProxyModeNFTables ProxyMode = "nftables"
)

// Values implements document.Enum.
func (ProxyMode) Values() []string {
	return document.EnumOf(ProxyModeIPTables, ProxyModeIPVS, ProxyModeNFTables)
}

var proxy = document.Of[KubeProxyConfig]("KubeProxyConfig", `apiVersion: v1alpha1
kind: KubeProxyConfig
mode: nftables
`, document.ControlPlane)

// KubeCoreDNSConfig sets up CoreDNS, the DNS server of the cluster.
type KubeCoreDNSConfig struct {
	document.Header `yaml:",inline"`
	// Whether the cluster has it; it does without this key.
	Enabled *bool `yaml:"enabled,omitempty" maps:"!cluster.coreDNS.disabled"`
	// The image; the release's own without it.
	Image value.Image `yaml:"image,omitempty" maps:"cluster.coreDNS.image"`
}

var coreDNS = document.Of[KubeCoreDNSConfig]("KubeCoreDNSConfig", `apiVersion: v1alpha1
kind: KubeCoreDNSConfig
enabled: true
`, document.ControlPlane)
