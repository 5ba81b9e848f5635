// SPDX-License-Identifier: Apache-2.0

// Package manifests renders the objects of a new cluster: the token and roles with which kubelets join, the pod network,
// kube-proxy and DNS. The templates are in templates/, one file for each manifest; their names sort in the order of application. It is
// pure.
package manifests

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/controllers/k8s/talosaccess"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

//go:embed templates/*.yaml
var templates embed.FS

// parsed returns the objects of all templates by the names of their files. Parsing takes a third of the time in which a machine checks a
// configuration, and the manifests are rendered for each one.
var parsed = sync.OnceValues(func() (map[string][]render.Object, error) {
	files, err := templates.ReadDir("templates")
	if err != nil {
		return nil, err
	}

	all := map[string][]render.Object{}

	for _, file := range files {
		text, err := templates.ReadFile("templates/" + file.Name())
		if err != nil {
			return nil, err
		}

		if all[file.Name()], err = render.Parse(text); err != nil {
			return nil, fmt.Errorf("template %s: %w", file.Name(), err)
		}
	}

	return all, nil
})

// Paths in the container of kube-proxy.
const (
	ProxyKubeconfig = "/etc/kubernetes/kubeconfig"
	proxyConfigDir  = "/etc/kube-proxy"
	ProxyConfigFile = proxyConfigDir + "/config.yaml"
)

// ServingApprover is the user with which control planes approve the serving certificates of kubelets.
const ServingApprover = "talos:kubelet-serving-approver"

// Manifest is a named list of objects. Names sort in the order of application.
type Manifest struct {
	Name    string
	Objects []render.Object
}

// builtin is a manifest that is rendered from a template.
type builtin struct {
	name   string
	wanted bool
	values render.Values
}

func builtins(cfg k8s.BootstrapManifestsConfigSpec, root secrets.KubernetesRootSpec) []builtin {
	return []builtin{
		{"00-kubelet-bootstrapping-token", true, render.Values{"tokenID": root.BootstrapTokenID, "tokenSecret": root.BootstrapTokenSecret}},
		{"01-csr-approver-role-binding", true, nil},
		{"01-csr-node-bootstrap", true, nil},
		{"01-csr-renewal-role-binding", true, nil},
		{"01-csr-serving-approver", true, render.Values{"user": ServingApprover}},
		{"01-kubelet-api-admin-role-binding", true, render.Values{"group": secrets.KubeletClientGroup}},
		{"05-flannel", cfg.FlannelEnabled, flannel(cfg)},
		{"06-kube-network-policies", cfg.FlannelEnabled && cfg.FlannelKubeNetworkPoliciesEnabled, render.Values{
			"image": cfg.FlannelKubeNetworkPoliciesImage, "flannelImage": cfg.FlannelImage,
			"serviceHost": variable("KUBERNETES_SERVICE_HOST", cfg.FlannelKubeServiceHost),
			"servicePort": variable("KUBERNETES_SERVICE_PORT", cfg.FlannelKubeServicePort),
		}},
		{"10-kube-proxy", cfg.ProxyEnabled, proxy(cfg)},
		{"10-kube-proxy-config", cfg.ProxyEnabled && len(cfg.ProxyConfig) > 0, render.Values{"config": indented(cfg.ProxyConfig)}},
		{"11-core-dns", cfg.CoreDNSEnabled, render.Values{"domain": cfg.ClusterDomain, "image": cfg.CoreDNSImage}},
		{"11-core-dns-svc", cfg.CoreDNSEnabled, dnsService(cfg)},
		{"11-kube-config-in-cluster", true, render.Values{"server": cfg.Server}},
		{"11-talos-node-rbac-template", true, nil},
		{"12-talos-health", true, nil},
		{"13-talos-service", cfg.TalosAPIServiceEnabled, render.Values{"name": talosaccess.Service, "namespace": talosaccess.Namespace, "port": contract.APIPort}},
		{"13-talos-service-account-crd", cfg.TalosAPIServiceEnabled, render.Values{
			"group": talosaccess.Group, "version": talosaccess.Version, "kind": talosaccess.Kind, "plural": talosaccess.Plural,
		}},
	}
}

// Names returns the names of all manifests of the settings.
func Names(cfg k8s.BootstrapManifestsConfigSpec, extra k8s.ExtraManifestsConfigSpec) []string {
	var out []string

	for _, m := range builtins(cfg, secrets.KubernetesRootSpec{}) {
		if m.wanted {
			out = append(out, m.name)
		}
	}

	for _, e := range extra.ExtraManifests {
		out = append(out, extraName(e))
	}

	return out
}

// Builtin renders the built-in manifests of the settings.
func Builtin(cfg k8s.BootstrapManifestsConfigSpec, root secrets.KubernetesRootSpec) ([]Manifest, error) {
	if cfg.CoreDNSEnabled && cfg.DNSServiceIP == "" && cfg.DNSServiceIPv6 == "" {
		return nil, errors.New("manifest 11-core-dns-svc: the service subnets have no address for DNS")
	}

	all, err := parsed()
	if err != nil {
		return nil, err
	}

	var out []Manifest

	for _, m := range builtins(cfg, root) {
		if !m.wanted {
			continue
		}

		template := all[m.name+".yaml"]
		if template == nil {
			return nil, fmt.Errorf("manifest %s: it has no template", m.name)
		}

		objects, err := render.Fill(template, m.values)
		if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", m.name, err)
		}

		out = append(out, Manifest{Name: m.name, Objects: objects})
	}

	return out, nil
}

func flannel(cfg k8s.BootstrapManifestsConfigSpec) render.Values {
	network := render.Object{
		// The image has the programs for nftables, and kube-proxy uses it.
		"EnableNFTables": true,
		"Backend":        flannelBackend(cfg),
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

	netConf, cniConf := indented(network), indented(render.Object{
		"name":       "cbr0",
		"cniVersion": "0.4.0",
		"plugins": []any{
			render.Object{"type": "flannel", "delegate": render.Object{"hairpinMode": true, "isDefaultGateway": true}},
			render.Object{"type": "portmap", "capabilities": render.Object{"portMappings": true}},
		},
	})

	args := []any{"--ip-masq", "--kube-subnet-mgr"}
	for _, arg := range cfg.FlannelExtraArgs {
		args = append(args, arg)
	}

	return render.Values{
		"image": cfg.FlannelImage, "args": args, "netConf": netConf, "cniConf": cniConf, "annotations": readAtStart(netConf, cniConf),
		"resources":   pods.Resources(render.Object{"cpu": "100m", "memory": "50Mi"}, cfg.FlannelResources),
		"serviceHost": variable("KUBERNETES_SERVICE_HOST", cfg.FlannelKubeServiceHost),
		"servicePort": variable("KUBERNETES_SERVICE_PORT", cfg.FlannelKubeServicePort),
	}
}

// flannelBackend returns how flannel carries packets between nodes. Only a tunnel has a port.
func flannelBackend(cfg k8s.BootstrapManifestsConfigSpec) render.Object {
	backend := render.Object{}
	maps.Copy(backend, cfg.FlannelBackendExtraConfig)

	backend["Type"] = cfg.FlannelBackendType

	if cfg.FlannelBackendType == "vxlan" && cfg.FlannelBackendPort != 0 {
		backend["Port"] = cfg.FlannelBackendPort
	}

	if cfg.FlannelBackendMTU != 0 {
		backend["MTU"] = cfg.FlannelBackendMTU
	}

	return backend
}

// readAtStart returns the annotations of a pod whose program reads its configuration only once: a change replaces the pods.
func readAtStart(configuration ...string) render.Object {
	sum := sha256.Sum256([]byte(strings.Join(configuration, "\n")))

	return render.Object{"talos.dev/config-checksum": hex.EncodeToString(sum[:])}
}

func indented(object render.Object) string {
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}

	return string(text) + "\n"
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

	values := render.Values{
		"image": cfg.ProxyImage, "command": command, "resources": pods.Resources(nil, cfg.ProxyResources),
		"annotations": readAtStart(cfg.Server, cfg.ProxyConfigChecksum), "configMount": render.Omit, "configVolume": render.Omit,
	}

	if len(cfg.ProxyConfig) > 0 {
		values["configMount"] = render.Object{"name": "config", "mountPath": proxyConfigDir, "readOnly": true}
		values["configVolume"] = render.Object{"name": "config", "configMap": render.Object{"name": "kube-proxy"}}
	}

	return values
}

func dnsService(cfg k8s.BootstrapManifestsConfigSpec) render.Values {
	var ips, families []any

	for _, family := range []struct{ name, ip string }{{"IPv4", cfg.DNSServiceIP}, {"IPv6", cfg.DNSServiceIPv6}} {
		if family.ip != "" {
			ips, families = append(ips, family.ip), append(families, family.name)
		}
	}

	policy := "SingleStack"
	if len(ips) > 1 {
		policy = "RequireDualStack"
	}

	return render.Values{"clusterIP": cmp.Or(cfg.DNSServiceIP, cfg.DNSServiceIPv6), "clusterIPs": ips, "ipFamilies": families, "ipFamilyPolicy": policy}
}
