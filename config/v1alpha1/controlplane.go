// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// APIServerConfig describes kube-apiserver.
type APIServerConfig struct {
	// The image; the release's own without it.
	Image string `yaml:"image,omitempty"`
	// Flags of the program, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs ExtraArgs `yaml:"extraArgs,omitempty"`
	// Paths of the machine that the pod has.
	ExtraVolumes []VolumeMount `yaml:"extraVolumes,omitempty"`
	// Environment variables.
	Env map[string]string `yaml:"env,omitempty"`
	// More names and addresses for the API server's certificate.
	CertSANs []string `yaml:"certSANs,omitempty"`
	// Kubernetes removed pod security policies: the key has no effect.
	DisablePodSecurityPolicy *bool `yaml:"disablePodSecurityPolicy,omitempty" replaced:"1.12"`
	// The settings of admission plugins.
	AdmissionControl []AdmissionPlugin `yaml:"admissionControl,omitempty" merge:"key=name"`
	// A Policy of audit.k8s.io/v1, as Kubernetes documents it: what the API server writes to its audit log.
	AuditPolicy Object `yaml:"auditPolicy,omitempty" merge:"replace"`
	// CPU and memory that the pod requests and is limited to.
	Resources Resources `yaml:"resources,omitempty"`
	// The steps of authorization, in their order. Node and RBAC follow if they are not in the list.
	AuthorizationConfig []Authorizer `yaml:"authorizationConfig,omitempty"`
}

// AdmissionPlugin configures one admission plugin.
type AdmissionPlugin struct {
	// The name of the plugin.
	Name string `yaml:"name"`
	// The configuration, as the plugin documents it.
	Configuration Object `yaml:"configuration"`
}

// Authorizer is one step of authorization. Type is Node, RBAC or Webhook.
type Authorizer struct {
	// What decides: Node, RBAC or Webhook.
	Type string `yaml:"type"`
	// The name of the step.
	Name string `yaml:"name"`
	// The settings of a webhook, as Kubernetes documents them.
	Webhook Object `yaml:"webhook,omitempty" merge:"replace"`
}

// ControllerManagerConfig describes kube-controller-manager.
type ControllerManagerConfig struct {
	// The image; the release's own without it.
	Image string `yaml:"image,omitempty"`
	// Flags of the program, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs ExtraArgs `yaml:"extraArgs,omitempty"`
	// Paths of the machine that the pod has.
	ExtraVolumes []VolumeMount `yaml:"extraVolumes,omitempty"`
	// Environment variables.
	Env map[string]string `yaml:"env,omitempty"`
	// CPU and memory that the pod requests and is limited to.
	Resources Resources `yaml:"resources,omitempty"`
}

// SchedulerConfig describes kube-scheduler. Config is a KubeSchedulerConfiguration.
type SchedulerConfig struct {
	// The image; the release's own without it.
	Image string `yaml:"image,omitempty"`
	// Flags of the program, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs ExtraArgs `yaml:"extraArgs,omitempty"`
	// Paths of the machine that the pod has.
	ExtraVolumes []VolumeMount `yaml:"extraVolumes,omitempty"`
	// Environment variables.
	Env map[string]string `yaml:"env,omitempty"`
	// CPU and memory that the pod requests and is limited to.
	Resources Resources `yaml:"resources,omitempty"`
	// A KubeSchedulerConfiguration, as Kubernetes documents it, without apiVersion and kind.
	Config Object `yaml:"config,omitempty"`
}

// ProxyConfig describes kube-proxy.
type ProxyConfig struct {
	// Whether the cluster has no kube-proxy.
	Disabled *bool `yaml:"disabled,omitempty"`
	// The image; the release's own without it.
	Image string `yaml:"image,omitempty"`
	// How traffic is carried: nftables, iptables or ipvs; nftables without it.
	Mode string `yaml:"mode,omitempty"`
	// Flags of the program, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs ExtraArgs `yaml:"extraArgs,omitempty"`
}

// VolumeMount mounts a path of the host into a static pod.
type VolumeMount struct {
	// The path on the machine.
	HostPath string `yaml:"hostPath"`
	// The path in the pod.
	MountPath string `yaml:"mountPath"`
	// Whether the pod can only read it.
	ReadOnly bool `yaml:"readonly,omitempty"`
}

// Resources are a pod's requests and limits, as in Kubernetes.
type Resources struct {
	// What is set aside for the pod, by resource: cpu, memory.
	Requests Object `yaml:"requests,omitempty"`
	// What the pod may use at most, by resource: cpu, memory.
	Limits Object `yaml:"limits,omitempty"`
}
