// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Files returns the files that the kubelet reads, by path. All belong to root and are private.
func Files(spec k8s.KubeletSpecSpec, join secrets.KubeletSpec) (map[string][]byte, error) {
	config, err := yaml.Marshal(spec.Config)
	if err != nil {
		return nil, fmt.Errorf("kubelet configuration: %w", err)
	}

	bootstrap, err := kubeconfig.Render(kubeconfig.Config{
		Cluster: "local", User: "kubelet", Context: "local",
		Server: join.Endpoint.String(), TLSServerName: join.EndpointTLSServerName,
		CA:    secrets.JoinCerts(join.AcceptedCAs),
		Token: join.BootstrapTokenID + "." + join.BootstrapTokenSecret,
	})
	if err != nil {
		return nil, fmt.Errorf("kubelet: bootstrap kubeconfig: %w", err)
	}

	out := map[string][]byte{
		ConfigFile:              config,
		BootstrapKubeconfigFile: bootstrap,
		CAFile:                  secrets.JoinCerts(join.AcceptedCAs),
	}

	if len(spec.CredentialProviderConfig) > 0 {
		if out[credentialProviderConfig], err = yaml.Marshal(spec.CredentialProviderConfig); err != nil {
			return nil, fmt.Errorf("kubelet credential provider configuration: %w", err)
		}
	}

	return out, nil
}
