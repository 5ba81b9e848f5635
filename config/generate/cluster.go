// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

func (in *input) cluster(role v1alpha1.MachineType) v1alpha1.ClusterConfig {
	bundle := in.Secrets

	cluster := v1alpha1.ClusterConfig{
		ID:           bundle.Cluster.ID,
		Secret:       bundle.Cluster.Secret,
		ControlPlane: v1alpha1.ControlPlane{Endpoint: in.endpoint, LocalAPIServerPort: in.LocalAPIServerPort},
		ClusterName:  in.clusterName,
		Network: v1alpha1.ClusterNetwork{
			DNSDomain:      in.DNSDomain,
			PodSubnets:     in.PodSubnets,
			ServiceSubnets: in.ServiceSubnets,
		},
		Token: bundle.Secrets.BootstrapToken,
		CA:    withoutKey(bundle.Certs.Kubernetes),
		Discovery: v1alpha1.DiscoveryConfig{
			Enabled:    new(!in.NoClusterDiscovery),
			Registries: v1alpha1.DiscoveryRegistries{Kubernetes: v1alpha1.Switch{Disabled: new(true)}},
		},
	}

	if role.IsControlPlane() {
		in.controlPlane(&cluster)
	}

	return cluster
}

// controlPlane sets the keys that only control plane machines have.
func (in *input) controlPlane(cluster *v1alpha1.ClusterConfig) {
	bundle := in.Secrets

	cluster.AESCBCEncryptionSecret = bundle.Secrets.AESCBCSecret
	cluster.SecretboxSecret = bundle.Secrets.SecretboxSecret
	cluster.CA = bundle.Certs.Kubernetes
	cluster.AggregatorCA = bundle.Certs.Aggregator
	cluster.ServiceAccount = bundle.Certs.ServiceAccount
	cluster.Etcd.CA = bundle.Certs.Etcd

	cluster.APIServer = v1alpha1.APIServerConfig{
		Image:            images.KubeAPIServer + ":" + in.kubernetes,
		CertSANs:         in.AdditionalSANs,
		AdmissionControl: []v1alpha1.AdmissionPlugin{podSecurity()},
		AuditPolicy:      auditPolicy(),
	}
	cluster.ControllerManager.Image = images.KubeControllerManager + ":" + in.kubernetes
	cluster.Proxy.Image = images.KubeProxy + ":" + in.kubernetes
	cluster.Scheduler.Image = images.KubeScheduler + ":" + in.kubernetes

	if in.AllowSchedulingOnControlPlanes {
		cluster.AllowSchedulingOnControlPlanes = new(true)
	}
}

// auditPolicy logs who did what, without the contents of requests.
func auditPolicy() v1alpha1.Object {
	return v1alpha1.Object{
		"apiVersion": "audit.k8s.io/v1",
		"kind":       "Policy",
		"rules":      []any{map[string]any{"level": "Metadata"}},
	}
}

// podSecurity enforces the baseline standard on pods outside kube-system, and warns about pods that do not meet the
// restricted one.
func podSecurity() v1alpha1.AdmissionPlugin {
	return v1alpha1.AdmissionPlugin{
		Name: "PodSecurity",
		Configuration: v1alpha1.Object{
			"apiVersion": "pod-security.admission.config.k8s.io/v1alpha1",
			"kind":       "PodSecurityConfiguration",
			"defaults": map[string]any{
				"audit":           "restricted",
				"audit-version":   "latest",
				"enforce":         "baseline",
				"enforce-version": "latest",
				"warn":            "restricted",
				"warn-version":    "latest",
			},
			"exemptions": map[string]any{
				"namespaces":     []any{"kube-system"},
				"runtimeClasses": []any{},
				"usernames":      []any{},
			},
		},
	}
}
