// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// APIServer is the API server's settings.
func APIServer(cfg *v1alpha1.Config) (*k8s.APIServerConfigSpec, error) {
	c := &cfg.Cluster.APIServer
	image := cmp.Or(c.Image, images.DefaultKubeAPIServer)
	extra := extraArgs(c.ExtraArgs)

	return &k8s.APIServerConfigSpec{
		Image:                   image,
		CloudProvider:           cloudProvider(cfg),
		ControlPlaneEndpoint:    cfg.Cluster.ControlPlane.Endpoint.String(),
		EtcdServers:             []string{contract.EtcdURL},
		LocalPort:               cfg.Cluster.APIServerPort(),
		ServiceCIDRs:            prefixes(cfg.Cluster.ServiceSubnets()),
		ExtraVolumes:            extraVolumes(c.ExtraVolumes),
		EnvironmentVariables:    c.Env,
		AdvertisedAddress:       "$(POD_IP)",
		Resources:               resources(c.Resources),
		ExtraArgs:               extra,
		StartupProbesEnabled:    true,
		UseAuthenticationConfig: pods.UseAuthenticationConfig(image, extra),
	}, nil
}

// ControllerManager is the controller manager's settings.
func ControllerManager(cfg *v1alpha1.Config) (*k8s.ControllerManagerConfigSpec, error) {
	c := &cfg.Cluster.ControllerManager

	return &k8s.ControllerManagerConfigSpec{
		Enabled:              !v1alpha1.IsTrue(cfg.Machine.Plane.ControllerManager.Disabled),
		Image:                cmp.Or(c.Image, images.DefaultKubeControllerManager),
		CloudProvider:        cloudProvider(cfg),
		PodCIDRs:             prefixes(cfg.Cluster.PodSubnets()),
		ServiceCIDRs:         prefixes(cfg.Cluster.ServiceSubnets()),
		ExtraVolumes:         extraVolumes(c.ExtraVolumes),
		EnvironmentVariables: c.Env,
		Resources:            resources(c.Resources),
		ExtraArgs:            extraArgs(c.ExtraArgs),
	}, nil
}

// Scheduler is the scheduler's settings.
func Scheduler(cfg *v1alpha1.Config) (*k8s.SchedulerConfigSpec, error) {
	c := &cfg.Cluster.Scheduler

	return &k8s.SchedulerConfigSpec{
		Enabled:              !v1alpha1.IsTrue(cfg.Machine.Plane.Scheduler.Disabled),
		Image:                cmp.Or(c.Image, images.DefaultKubeScheduler),
		ExtraVolumes:         extraVolumes(c.ExtraVolumes),
		EnvironmentVariables: c.Env,
		Resources:            resources(c.Resources),
		Config:               c.Config,
		ExtraArgs:            extraArgs(c.ExtraArgs),
	}, nil
}

// AdmissionControl is the API server's admission plugins.
func AdmissionControl(cfg *v1alpha1.Config) (*k8s.AdmissionControlConfigSpec, error) {
	spec := &k8s.AdmissionControlConfigSpec{}

	for _, plugin := range cfg.Cluster.APIServer.AdmissionControl {
		spec.Config = append(spec.Config, k8s.AdmissionPlugin{Name: plugin.Name, Configuration: plugin.Configuration})
	}

	return spec, nil
}

// AuditPolicy is the API server's audit policy; the default logs who did what, without bodies.
func AuditPolicy(cfg *v1alpha1.Config) (*k8s.AuditPolicyConfigSpec, error) {
	if policy := cfg.Cluster.APIServer.AuditPolicy; len(policy) > 0 {
		return &k8s.AuditPolicyConfigSpec{Config: policy}, nil
	}

	return &k8s.AuditPolicyConfigSpec{Config: map[string]any{
		"apiVersion": "audit.k8s.io/v1",
		"kind":       "Policy",
		"rules":      []any{map[string]any{"level": "Metadata"}},
	}}, nil
}

// Authentication lets probes through without a certificate, and nothing else.
func Authentication(*v1alpha1.Config) (*k8s.AuthenticationConfigSpec, error) {
	var conditions []any
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		conditions = append(conditions, map[string]any{"path": path})
	}

	return &k8s.AuthenticationConfigSpec{Config: map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AuthenticationConfiguration",
		"anonymous":  map[string]any{"enabled": true, "conditions": conditions},
	}}, nil
}

// Authorization is the chain of authorizers: nodes and roles, unless the configuration says otherwise. Both stay
// in the chain in any case, first those of the configuration that decide before them.
func Authorization(cfg *v1alpha1.Config) (*k8s.AuthorizationConfigSpec, error) {
	c := &cfg.Cluster.APIServer
	spec := &k8s.AuthorizationConfigSpec{Image: cmp.Or(c.Image, images.DefaultKubeAPIServer)}

	for _, a := range c.AuthorizationConfig {
		spec.Config = append(spec.Config, k8s.Authorizer{Type: a.Type, Name: a.Name, Webhook: a.Webhook})
	}

	for _, builtin := range []string{"Node", "RBAC"} {
		if !slices.ContainsFunc(spec.Config, func(a k8s.Authorizer) bool { return a.Type == builtin }) {
			spec.Config = append(spec.Config, k8s.Authorizer{Type: builtin, Name: strings.ToLower(builtin)})
		}
	}

	return spec, nil
}

// ExtraManifests is the manifests of the configuration, after the built-in ones.
func ExtraManifests(cfg *v1alpha1.Config) (*k8s.ExtraManifestsConfigSpec, error) {
	spec := &k8s.ExtraManifestsConfigSpec{}

	if cfg.Cluster.CNI() == "custom" {
		for _, url := range cfg.Cluster.Network.CNI.URLs {
			spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{Name: manifestName(url), URL: url, Priority: "05"})
		}
	}

	if v1alpha1.IsTrue(cfg.Cluster.ExternalCloudProvider.Enabled) {
		for _, url := range cfg.Cluster.ExternalCloudProvider.Manifests {
			spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{Name: manifestName(url), URL: url, Priority: "30"})
		}
	}

	for _, url := range cfg.Cluster.ExtraManifests {
		spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{
			Name: manifestName(url), URL: url, Priority: "99", ExtraHeaders: cfg.Cluster.ExtraManifestHeaders,
		})
	}

	for i, manifest := range cfg.Cluster.InlineManifests {
		if manifest.Name == "" {
			return nil, fmt.Errorf("cluster.inlineManifests[%d]: has no name", i)
		}

		spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{
			Name: manifest.Name, Priority: "99", InlineManifest: manifest.Contents,
		})
	}

	return spec, nil
}

func cloudProvider(cfg *v1alpha1.Config) string {
	if v1alpha1.IsTrue(cfg.Cluster.ExternalCloudProvider.Enabled) {
		return "external"
	}

	return ""
}

func prefixes(in []netip.Prefix) []string {
	out := make([]string, 0, len(in))
	for _, p := range in {
		out = append(out, p.String())
	}

	return out
}

func extraArgs(in v1alpha1.ExtraArgs) k8s.Args {
	if len(in) == 0 {
		return nil
	}

	out := make(k8s.Args, len(in))
	for name, values := range in {
		out[name] = k8s.ArgValues{Values: values}
	}

	return out
}

func extraVolumes(in []v1alpha1.VolumeMount) []k8s.ExtraVolume {
	var out []k8s.ExtraVolume

	for i, v := range in {
		out = append(out, k8s.ExtraVolume{
			// The name of a volume is a label; its path is not.
			Name:     fmt.Sprintf("extra-%d", i),
			HostPath: path.Clean(v.HostPath), MountPath: path.Clean(v.MountPath), ReadOnly: v.ReadOnly,
		})
	}

	return out
}

func resources(in v1alpha1.Resources) k8s.Resources {
	return k8s.Resources{Requests: quantities(in.Requests), Limits: quantities(in.Limits)}
}

func quantities(in v1alpha1.Object) map[string]string {
	if len(in) == 0 {
		return nil
	}

	out := make(map[string]string, len(in))
	for name, value := range in {
		out[name] = fmt.Sprint(value)
	}

	return out
}
