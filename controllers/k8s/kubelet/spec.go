// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/args"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// policy of extra arguments: the system sets how the kubelet connects to the cluster and the runtime.
var policy = args.Policy{
	"bootstrap-kubeconfig":       args.Denied,
	"kubeconfig":                 args.Denied,
	"container-runtime":          args.Denied,
	"container-runtime-endpoint": args.Denied,
	"image-service-endpoint":     args.Denied,
	"config":                     args.Denied,
	"config-dir":                 args.Denied,
	"cert-dir":                   args.Denied,
	"feature-gates":              args.Additive,
}

// Node is what the kubelet needs to know about the node.
type Node struct {
	Name         string
	IPs          []netip.Addr
	ControlPlane bool
	// Platform is where the node runs.
	Platform platform.Platform
}

// Spec returns how the kubelet runs.
func Spec(cfg k8s.KubeletConfigSpec, node Node) (k8s.KubeletSpecSpec, error) {
	command, err := commandLine(cfg, node)
	if err != nil {
		return k8s.KubeletSpecSpec{}, err
	}

	config, err := configuration(cfg, node)
	if err != nil {
		return k8s.KubeletSpecSpec{}, err
	}

	spec := k8s.KubeletSpecSpec{
		Image:                    cfg.Image,
		Args:                     command,
		ExtraMounts:              cfg.ExtraMounts,
		Config:                   config,
		CredentialProviderConfig: cfg.CredentialProviderConfig,
	}

	// A name in the configuration overrides the Node's name.
	if _, forced := cfg.ExtraArgs["hostname-override"]; !forced {
		spec.ExpectedNodename = node.Name
	}

	return spec, nil
}

func commandLine(cfg k8s.KubeletConfigSpec, node Node) ([]string, error) {
	wanted := args.Set{
		"cert-dir":          {PKIDir},
		"config":            {ConfigFile},
		"hostname-override": {node.Name},
	}

	if !cfg.SkipNodeRegistration {
		wanted["bootstrap-kubeconfig"] = []string{BootstrapKubeconfigFile}
		wanted["kubeconfig"] = []string{KubeconfigFile}

		ips := make([]string, 0, len(node.IPs))
		for _, ip := range node.IPs {
			ips = append(ips, ip.String())
		}

		if len(ips) > 0 {
			wanted["node-ip"] = []string{strings.Join(ips, ",")}
		}
	}

	if cfg.CloudProviderExternal {
		wanted["cloud-provider"] = []string{"external"}
	}

	if len(cfg.CredentialProviderConfig) > 0 {
		wanted["image-credential-provider-bin-dir"] = []string{CredentialProviderDir}
		wanted["image-credential-provider-config"] = []string{credentialProviderConfig}
	}

	merged, err := args.Merge("kubelet", cfg.Image, wanted, args.Of(cfg.ExtraArgs), policy)
	if err != nil {
		return nil, fmt.Errorf("machine.kubelet.extraArgs: %w", err)
	}

	return merged, nil
}
