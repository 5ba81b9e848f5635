// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// APIServerConfig describes kube-apiserver.
type APIServerConfig struct {
	Image                    string            `yaml:"image,omitempty"`
	ExtraArgs                ExtraArgs         `yaml:"extraArgs,omitempty"`
	ExtraVolumes             []VolumeMount     `yaml:"extraVolumes,omitempty"`
	Env                      map[string]string `yaml:"env,omitempty"`
	CertSANs                 []string          `yaml:"certSANs,omitempty"`
	DisablePodSecurityPolicy *bool             `yaml:"disablePodSecurityPolicy,omitempty"`
	AdmissionControl         []AdmissionPlugin `yaml:"admissionControl,omitempty" merge:"key=name"`
	AuditPolicy              Object            `yaml:"auditPolicy,omitempty" merge:"replace"`
	Resources                Resources         `yaml:"resources,omitempty"`
	AuthorizationConfig      []Authorizer      `yaml:"authorizationConfig,omitempty"`
}

// AdmissionPlugin configures one admission plugin.
type AdmissionPlugin struct {
	Name          string `yaml:"name"`
	Configuration Object `yaml:"configuration"`
}

// Authorizer is one step of authorization. Type is Node, RBAC or Webhook.
type Authorizer struct {
	Type    string `yaml:"type"`
	Name    string `yaml:"name"`
	Webhook Object `yaml:"webhook,omitempty" merge:"replace"`
}

// ControllerManagerConfig describes kube-controller-manager.
type ControllerManagerConfig struct {
	Image        string            `yaml:"image,omitempty"`
	ExtraArgs    ExtraArgs         `yaml:"extraArgs,omitempty"`
	ExtraVolumes []VolumeMount     `yaml:"extraVolumes,omitempty"`
	Env          map[string]string `yaml:"env,omitempty"`
	Resources    Resources         `yaml:"resources,omitempty"`
}

// SchedulerConfig describes kube-scheduler. Config is a KubeSchedulerConfiguration.
type SchedulerConfig struct {
	Image        string            `yaml:"image,omitempty"`
	ExtraArgs    ExtraArgs         `yaml:"extraArgs,omitempty"`
	ExtraVolumes []VolumeMount     `yaml:"extraVolumes,omitempty"`
	Env          map[string]string `yaml:"env,omitempty"`
	Resources    Resources         `yaml:"resources,omitempty"`
	Config       Object            `yaml:"config,omitempty"`
}

// ProxyConfig describes kube-proxy.
type ProxyConfig struct {
	Disabled  *bool     `yaml:"disabled,omitempty"`
	Image     string    `yaml:"image,omitempty"`
	Mode      string    `yaml:"mode,omitempty"`
	ExtraArgs ExtraArgs `yaml:"extraArgs,omitempty"`
}

// VolumeMount mounts a path of the host into a static pod.
type VolumeMount struct {
	HostPath  string `yaml:"hostPath"`
	MountPath string `yaml:"mountPath"`
	ReadOnly  bool   `yaml:"readonly,omitempty"`
}

// Resources are a pod's requests and limits, as in Kubernetes.
type Resources struct {
	// What is set aside for the pod, by resource: cpu, memory.
	Requests Object `yaml:"requests,omitempty"`
	// What the pod may use at most, by resource: cpu, memory.
	Limits Object `yaml:"limits,omitempty"`
}
