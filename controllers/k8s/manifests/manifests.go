// SPDX-License-Identifier: Apache-2.0

// Package manifests renders what a new cluster gets: the token and roles by which kubelets join, the pod network,
// kube-proxy and DNS. The objects are in templates/, one file a manifest, in the order in which they are applied. It is
// pure.
package manifests

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

//go:embed templates/*.yaml
var templates embed.FS

// ServingApprover is the user as whom control planes approve the serving certificates of kubelets.
const ServingApprover = "talos:kubelet-serving-approver"

// Manifest is a named list of objects. Names sort in the order of application.
type Manifest struct {
	Name    string
	Objects []render.Object
}

// builtin is one manifest that a template makes.
type builtin struct {
	name   string
	values func() (render.Values, error)
	skip   bool
}

func builtins(cfg k8s.BootstrapManifestsConfigSpec, root secrets.KubernetesRootSpec) []builtin {
	return []builtin{
		{name: "00-kubelet-bootstrapping-token", values: func() (render.Values, error) {
			return render.Values{"tokenID": root.BootstrapTokenID, "tokenSecret": root.BootstrapTokenSecret}, nil
		}},
		{name: "01-csr-approver-role-binding"},
		{name: "01-csr-node-bootstrap"},
		{name: "01-csr-renewal-role-binding"},
		{name: "01-csr-serving-approver", values: func() (render.Values, error) {
			return render.Values{"user": ServingApprover}, nil
		}},
		{name: "01-kubelet-api-admin-role-binding", values: func() (render.Values, error) {
			return render.Values{"group": secrets.KubeletClientGroup}, nil
		}},
		{name: "05-flannel", skip: !cfg.FlannelEnabled, values: func() (render.Values, error) { return flannel(cfg) }},
		{name: "10-kube-proxy", skip: !cfg.ProxyEnabled, values: func() (render.Values, error) { return proxy(cfg), nil }},
		{name: "11-core-dns", skip: !cfg.CoreDNSEnabled, values: func() (render.Values, error) {
			return render.Values{"domain": cfg.ClusterDomain, "image": cfg.CoreDNSImage}, nil
		}},
		{name: "11-core-dns-svc", skip: !cfg.CoreDNSEnabled, values: func() (render.Values, error) { return dnsService(cfg) }},
		{name: "11-kube-config-in-cluster", values: func() (render.Values, error) {
			return render.Values{"server": cfg.Server}, nil
		}},
		{name: "11-talos-node-rbac-template"},
		{name: "12-talos-health"},
	}
}

// Names returns the names of all manifests that the settings ask for.
func Names(cfg k8s.BootstrapManifestsConfigSpec, extra k8s.ExtraManifestsConfigSpec) []string {
	var out []string

	for _, m := range builtins(cfg, secrets.KubernetesRootSpec{}) {
		if !m.skip {
			out = append(out, m.name)
		}
	}

	for _, e := range extra.ExtraManifests {
		out = append(out, extraName(e))
	}

	return out
}

// Builtin renders the manifests that the settings ask for.
func Builtin(cfg k8s.BootstrapManifestsConfigSpec, root secrets.KubernetesRootSpec) ([]Manifest, error) {
	var out []Manifest

	for _, m := range builtins(cfg, root) {
		if m.skip {
			continue
		}

		var values render.Values

		if m.values != nil {
			var err error

			if values, err = m.values(); err != nil {
				return nil, fmt.Errorf("manifest %s: %w", m.name, err)
			}
		}

		template, err := templates.ReadFile("templates/" + m.name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", m.name, err)
		}

		objects, err := render.Objects(template, values)
		if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", m.name, err)
		}

		out = append(out, Manifest{Name: m.name, Objects: objects})
	}

	return out, nil
}

func flannel(cfg k8s.BootstrapManifestsConfigSpec) (render.Values, error) {
	network := render.Object{
		// nftables is what the image has programs for, and what kube-proxy uses.
		"EnableNFTables": true,
		"Backend":        backend(cfg),
	}

	for _, cidr := range cfg.PodCIDRs {
		if strings.Contains(cidr, ":") {
			network["IPv6Network"], network["EnableIPv6"] = cidr, true
		} else {
			network["Network"] = cidr
		}
	}

	if _, v4 := network["Network"]; !v4 {
		network["EnableIPv4"] = false
	}

	netConf, err := json.MarshalIndent(network, "", "  ")
	if err != nil {
		return nil, err
	}

	cniConf, err := json.MarshalIndent(render.Object{
		"name":       "cbr0",
		"cniVersion": "0.4.0",
		"plugins": []any{
			render.Object{"type": "flannel", "delegate": render.Object{"hairpinMode": true, "isDefaultGateway": true}},
			render.Object{"type": "portmap", "capabilities": render.Object{"portMappings": true}},
		},
	}, "", "  ")
	if err != nil {
		return nil, err
	}

	args := []any{"--ip-masq", "--kube-subnet-mgr"}
	for _, arg := range cfg.FlannelExtraArgs {
		args = append(args, arg)
	}

	return render.Values{
		"image": cfg.FlannelImage, "args": args, "netConf": string(netConf) + "\n", "cniConf": string(cniConf) + "\n",
		"resources":   resources(cfg.FlannelResources, render.Object{"cpu": "100m", "memory": "50Mi"}),
		"serviceHost": variable("KUBERNETES_SERVICE_HOST", cfg.FlannelKubeServiceHost),
		"servicePort": variable("KUBERNETES_SERVICE_PORT", cfg.FlannelKubeServicePort),
	}, nil
}

func backend(cfg k8s.BootstrapManifestsConfigSpec) render.Object {
	out := render.Object{}

	for key, value := range cfg.FlannelBackendExtraConfig {
		out[key] = value
	}

	out["Type"] = cfg.FlannelBackendType

	if cfg.FlannelBackendPort != 0 {
		out["Port"] = cfg.FlannelBackendPort
	}

	if cfg.FlannelBackendMTU != 0 {
		out["MTU"] = cfg.FlannelBackendMTU
	}

	return out
}

func variable(name, value string) any {
	if value == "" {
		return render.Omit
	}

	return render.Object{"name": name, "value": value}
}

func proxy(cfg k8s.BootstrapManifestsConfigSpec) render.Values {
	command := []any{"/usr/local/bin/kube-proxy"}
	for _, arg := range cfg.ProxyArgs {
		command = append(command, arg)
	}

	return render.Values{"image": cfg.ProxyImage, "command": command, "resources": resources(cfg.ProxyResources, render.Object{})}
}

func dnsService(cfg k8s.BootstrapManifestsConfigSpec) (render.Values, error) {
	var ips, families []any

	for _, family := range []struct{ name, ip string }{{"IPv4", cfg.DNSServiceIP}, {"IPv6", cfg.DNSServiceIPv6}} {
		if family.ip != "" {
			ips, families = append(ips, family.ip), append(families, family.name)
		}
	}

	if len(ips) == 0 {
		return nil, errors.New("the service subnets have no address for DNS")
	}

	policy := "SingleStack"
	if len(ips) > 1 {
		policy = "RequireDualStack"
	}

	return render.Values{"clusterIP": ips[0], "clusterIPs": ips, "ipFamilies": families, "ipFamilyPolicy": policy}, nil
}

func resources(in k8s.Resources, requests render.Object) render.Object {
	out := render.Object{}

	for name, quantity := range in.Requests {
		requests[name] = quantity
	}

	if len(requests) > 0 {
		out["requests"] = requests
	}

	if len(in.Limits) > 0 {
		limits := render.Object{}
		for name, quantity := range in.Limits {
			limits[name] = quantity
		}

		out["limits"] = limits
	}

	return out
}
