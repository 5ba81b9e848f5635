// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// The label and the taint of control planes, and the label that keeps load balancers of Services off them.
const (
	controlPlaneRole     = "node-role.kubernetes.io/control-plane"
	withoutLoadBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
)

// kubernetesDocuments returns the documents about Kubernetes that all machines have.
func (in *input) kubernetesDocuments(role v1alpha1.MachineType) []any {
	node := &k8s.KubeNodeConfig{Header: header[k8s.KubeNodeConfig]()}
	authority := &k8s.KubeAPIServerCAConfig{Header: header[k8s.KubeAPIServerCAConfig]()}

	if role.IsControlPlane() {
		node.Labels = map[string]string{controlPlaneRole: "", withoutLoadBalancers: ""}
		authority.IssuingCA = issuing(in.Secrets.Certs.Kubernetes)

		if !in.AllowSchedulingOnControlPlanes {
			node.Taints = map[string]string{controlPlaneRole: ":NoSchedule"}
		}
	} else {
		authority.AcceptedCAs = []value.Certificates{value.Certificates(in.Secrets.Certs.Kubernetes.Crt)}
	}

	return []any{
		&k8s.KubeClusterConfig{Header: header[k8s.KubeClusterConfig](), ClusterName: in.clusterName, Endpoint: in.endpoint},
		node,
		&k8s.KubeletConfig{
			Header: header[k8s.KubeletConfig](), Image: in.image(images.Kubelet), DefaultRuntimeSeccompProfileEnabled: new(true),
		},
		&k8s.KubeNetworkConfig{
			Header: header[k8s.KubeNetworkConfig](), DNSDomain: value.Hostname(in.DNSDomain), PodSubnets: in.PodSubnets, ServiceSubnets: in.ServiceSubnets,
		},
		authority,
		&k8s.KubePrismConfig{Header: header[k8s.KubePrismConfig](), Port: v1alpha1.DefaultKubePrismPort},
	}
}

// image returns an image with the version of Kubernetes.
func (in *input) image(repository string) value.Image {
	return value.Image(repository + ":" + in.kubernetes)
}

func issuing(ca v1alpha1.CertPair) *value.CertificateAndKey {
	return &value.CertificateAndKey{Cert: value.Certificates(ca.Crt), Key: value.PrivateKey(ca.Key)}
}
