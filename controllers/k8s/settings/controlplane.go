// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// APIServer returns the API server's settings.
func APIServer(cfg *view.Config) *k8s.APIServerConfigSpec {
	c := cfg.APIServer()
	extra := extraArgs(c.ExtraArgs)

	return &k8s.APIServerConfigSpec{
		Image:                   c.Image,
		CloudProvider:           cloudProvider(cfg),
		ControlPlaneEndpoint:    cfg.Endpoint().String(),
		EtcdServers:             []string{contract.EtcdURL},
		LocalPort:               cfg.APIServerPort(),
		ServiceCIDRs:            prefixes(cfg.ServiceSubnets()),
		ExtraVolumes:            extraVolumes(c.ExtraVolumes),
		EnvironmentVariables:    c.Env,
		AdvertisedAddress:       "$(POD_IP)",
		Resources:               resources(c.Resources),
		ExtraArgs:               extra,
		StartupProbesEnabled:    cfg.StartupProbes(),
		UseAuthenticationConfig: pods.UseAuthenticationConfig(c.Image, extra),
	}
}

// ControllerManager returns the controller manager's settings.
func ControllerManager(cfg *view.Config) *k8s.ControllerManagerConfigSpec {
	c, enabled := cfg.ControllerManager()
	mask4, mask6 := cfg.NodeCIDRMaskSizes()

	return &k8s.ControllerManagerConfigSpec{
		Enabled:              enabled,
		Image:                c.Image,
		CloudProvider:        cloudProvider(cfg),
		PodCIDRs:             prefixes(cfg.PodSubnets()),
		ServiceCIDRs:         prefixes(cfg.ServiceSubnets()),
		ExtraVolumes:         extraVolumes(c.ExtraVolumes),
		EnvironmentVariables: c.Env,
		Resources:            resources(c.Resources),
		ExtraArgs:            extraArgs(c.ExtraArgs),
		NodeCIDRMaskSizeIPv4: mask4,
		NodeCIDRMaskSizeIPv6: mask6,
	}
}

// Scheduler returns the scheduler's settings.
func Scheduler(cfg *view.Config) *k8s.SchedulerConfigSpec {
	c, enabled := cfg.Scheduler()

	return &k8s.SchedulerConfigSpec{
		Enabled:              enabled,
		Image:                c.Image,
		ExtraVolumes:         extraVolumes(c.ExtraVolumes),
		EnvironmentVariables: c.Env,
		Resources:            resources(c.Resources),
		Config:               c.Config,
		ExtraArgs:            extraArgs(c.ExtraArgs),
	}
}

// AdmissionControl returns the API server's admission plugins.
func AdmissionControl(cfg *view.Config) *k8s.AdmissionControlConfigSpec {
	spec := &k8s.AdmissionControlConfigSpec{}

	for _, plugin := range cfg.APIServer().AdmissionControl {
		spec.Config = append(spec.Config, k8s.AdmissionPlugin{Name: plugin.Name, Configuration: plugin.Configuration})
	}

	return spec
}

// AuditPolicy returns the API server's audit policy; the default logs the metadata of requests, without bodies.
func AuditPolicy(cfg *view.Config) *k8s.AuditPolicyConfigSpec {
	if policy := cfg.APIServer().AuditPolicy; len(policy) > 0 {
		return &k8s.AuditPolicyConfigSpec{Config: policy}
	}

	return &k8s.AuditPolicyConfigSpec{Config: map[string]any{
		"apiVersion": "audit.k8s.io/v1",
		"kind":       "Policy",
		"rules":      []any{map[string]any{"level": "Metadata"}},
	}}
}

// Authorization returns the chain of authorizers: those of the configuration, and then those for nodes and roles, unless the configuration has
// them at another place in the chain.
func Authorization(cfg *view.Config) *k8s.AuthorizationConfigSpec {
	c := cfg.APIServer()
	spec := &k8s.AuthorizationConfigSpec{Image: c.Image}

	for _, a := range c.AuthorizationConfig {
		spec.Config = append(spec.Config, k8s.Authorizer{Type: a.Type, Name: a.Name, Webhook: a.Webhook})
	}

	for _, builtin := range []string{"Node", "RBAC"} {
		if !slices.ContainsFunc(spec.Config, func(a k8s.Authorizer) bool { return a.Type == builtin }) {
			spec.Config = append(spec.Config, k8s.Authorizer{Type: builtin, Name: strings.ToLower(builtin)})
		}
	}

	return spec
}

func cloudProvider(cfg *view.Config) string {
	if view.IsTrue(cfg.ExternalCloudProvider().Enabled) {
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

func extraArgs(in view.ExtraArgs) k8s.Args {
	if len(in) == 0 {
		return nil
	}

	out := make(k8s.Args, len(in))
	for name, values := range in {
		out[name] = k8s.ArgValues{Values: values}
	}

	return out
}

func extraVolumes(in []view.VolumeMount) []k8s.ExtraVolume {
	var out []k8s.ExtraVolume

	for i, v := range in {
		out = append(out, k8s.ExtraVolume{
			// A path is not a valid name of a volume.
			Name:     fmt.Sprintf("extra-%d", i),
			HostPath: path.Clean(v.HostPath), MountPath: path.Clean(v.MountPath), ReadOnly: v.ReadOnly,
		})
	}

	return out
}

func resources(in view.Resources) k8s.Resources {
	return k8s.Resources{Requests: quantities(in.Requests), Limits: quantities(in.Limits)}
}

func quantities(in view.Object) map[string]string {
	if len(in) == 0 {
		return nil
	}

	out := make(map[string]string, len(in))
	for name, value := range in {
		out[name] = fmt.Sprint(value)
	}

	return out
}
