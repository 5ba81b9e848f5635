// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func decode(t *testing.T, text string) *config.Config {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}

// TestSame compares what documents and keys of the v1alpha1 document come to.
func TestSame(t *testing.T) {
	const kind = "---\napiVersion: v1alpha1\nkind: "

	for _, tt := range []struct{ documents, keys string }{
		{"", ""},
		{kind + "KubeClusterConfig\nclusterName: c\nendpoint: https://api:6443\n", "cluster: {clusterName: c, controlPlane: {endpoint: 'https://api:6443'}}"},
		{
			kind + "KubeAPIServerConfig\nimage: a/b:1\nextraArgs: {v: '4', x: [a, b]}\nenv: {A: b}\ncertExtraSANs: [a.example]\napiPort: 443\n",
			"cluster: {controlPlane: {localAPIServerPort: 443}, apiServer: {image: a/b:1, extraArgs: {v: '4', x: [a, b]}, env: {A: b}, certSANs: [a.example]}}",
		},
		{
			kind + "KubeSchedulerConfig\nenabled: false\nconfig: {profiles: []}\n",
			"machine: {controlPlane: {scheduler: {disabled: true}}}\ncluster: {scheduler: {config: {profiles: []}}}",
		},
		{kind + "KubeProxyConfig\nenabled: true\nmode: nftables\n", "cluster: {proxy: {disabled: false, mode: nftables}}"},
		{
			kind + "KubeNetworkConfig\ndnsDomain: x.local\npodSubnets: [198.51.100.0/24]\nserviceSubnets: [203.0.113.0/24]\n",
			"cluster: {network: {dnsDomain: x.local, podSubnets: [198.51.100.0/24], serviceSubnets: [203.0.113.0/24]}}",
		},
		{kind + "KubePrismConfig\nport: 7445\n", "machine: {features: {kubePrism: {enabled: true, port: 7445}}}"},
		{
			kind + "KubeNodeConfig\nlabels: {a: b}\nnodeIP: {validSubnets: ['!198.51.100.0/24']}\n",
			"machine: {nodeLabels: {a: b}, kubelet: {nodeIP: {validSubnets: ['!198.51.100.0/24']}}}",
		},
		{
			kind + "KubeAuthorizerConfig\nname: n\ntype: Node\n" + kind + "KubeAuthorizerConfig\nname: r\ntype: RBAC\n",
			"cluster: {apiServer: {authorizationConfig: [{type: Node, name: n}, {type: RBAC, name: r}]}}",
		},
		{
			kind + "StaticHostConfig\nname: 192.0.2.1\nhostnames: [a, b]\n" + kind + "StaticHostConfig\nname: 192.0.2.2\nhostnames: [c]\n",
			"machine: {network: {extraHostEntries: [{ip: 192.0.2.1, aliases: [a, b]}, {ip: 192.0.2.2, aliases: [c]}]}}",
		},
		{kind + "TimeSyncConfig\nenabled: false\nbootTimeout: 2m\nntp: {servers: [a.example]}\n", "machine: {time: {disabled: true, bootTimeout: 2m, servers: [a.example]}}"},
		{kind + "SysctlConfig\nparams: {a.b: '1'}\n" + kind + "KernelModuleConfig\nname: m\nparameters: [x=1]\n", "machine: {sysctls: {a.b: '1'}, kernel: {modules: [{name: m, parameters: [x=1]}]}}"},
		{
			kind + "DiscoveryServiceConfig\nname: a\nendpoint: https://a.example/\n",
			"cluster: {discovery: {enabled: true, registries: {kubernetes: {disabled: true}, service: {endpoint: 'https://a.example/'}}}}",
		},
		{kind + "KubeFlannelCNIConfig\nextraArgs: [--a]\n", "cluster: {network: {cni: {name: flannel, flannel: {extraArgs: [--a]}}}}"},
		{
			kind + "ResolverConfig\nnameservers: [{address: 192.0.2.53}]\nsearchDomains: {domains: [a.example], disableDefault: true}\n",
			"machine: {network: {nameservers: [192.0.2.53], searchDomains: [a.example], disableSearchDomain: true}}",
		},
		{
			kind + "RegistryAuthConfig\nname: r\nusername: u\npassword: p\n" + kind + "RegistryTLSConfig\nname: r\ninsecureSkipVerify: true\n",
			"machine: {registries: {config: {r: {auth: {username: u, password: p}, tls: {insecureSkipVerify: true}}}}}",
		},
	} {
		got, complete := Of(decode(t, "machine: {type: worker}\n"+tt.documents))

		want := &v1alpha1.Config{}
		if tt.keys != "" {
			want, _ = Of(decode(t, tt.keys))
		}

		want.Machine.Type = v1alpha1.TypeWorker

		if diff := cmp.Diff(want, got, cmp.AllowUnexported(v1alpha1.RegistryMirror{}), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || !complete {
			t.Errorf("%s: complete: %t (-want +got):\n%s", tt.documents, complete, diff)
		}
	}
}

// TestMirrors: each endpoint of a document has a choice of its own.
func TestMirrors(t *testing.T) {
	main, complete := Of(decode(t, "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: r\nendpoints: [{url: 'https://a/x', overridePath: true}, {url: 'https://b'}]\n"))
	m := main.Machine.Registries.Mirrors["r"]

	if complete || len(m.Endpoints) != 2 || !m.OverridesPath(0) || m.OverridesPath(1) {
		t.Errorf("got %+v, complete: %t", m, complete)
	}
}

// TestNothingIsShared: the configuration is not changed by what is put over it.
func TestNothingIsShared(t *testing.T) {
	cfg := decode(t, `machine: {features: {kubePrism: {port: 1}}, network: {extraHostEntries: [{ip: 192.0.2.1, aliases: [a]}]}}
---
apiVersion: v1alpha1
kind: KubePrismConfig
port: 2
---
apiVersion: v1alpha1
kind: StaticHostConfig
name: 192.0.2.2
hostnames: [b]
`)

	Of(cfg)

	own := config.Find[*v1alpha1.Config](cfg)
	if p := own.Machine.Features.KubePrism; p.Port != 1 || p.Enabled != nil {
		t.Errorf("KubePrism became %+v", p)
	}

	if n := len(own.Machine.Network.ExtraHostEntries); n != 1 {
		t.Errorf("got %d hosts, want 1", n)
	}
}

// TestEveryTag sets each field with a tag, and expects it under the key that the tag names.
func TestEveryTag(t *testing.T) {
	count := 0

	for _, name := range config.Kinds() {
		visit(reflect.TypeOf(config.NewDocument(name)).Elem(), func(path string, field strict.Field) {
			for _, key := range document.Equivalent(field.Tag) {
				main := reflect.ValueOf(&v1alpha1.Config{}).Elem()
				if !exists(main.Type(), key) {
					t.Errorf("%s.%s: there is no key %s", name, path, key)
				}

				if field.Tag.Get("maps") == "" {
					continue
				}

				count++

				set(main, field.Tag.Get("maps"), sample(t, field.Type))

				if main.IsZero() {
					t.Errorf("%s.%s: nothing is set", name, path)
				}
			}
		})
	}

	if count < 40 {
		t.Errorf("got %d tags, want at least 40", count)
	}
}

func visit(t reflect.Type, field func(path string, f strict.Field)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct {
		return
	}

	for name, f := range strict.Fields(t) {
		field(name, f)
		visit(f.Type, field)
	}
}

func exists(t reflect.Type, key string) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}

	name, rest, more := strings.Cut(key, ".")

	field, known := strict.Fields(t)[name]

	return known && (!more || exists(field.Type, rest))
}

// sample returns a value of a type that is not zero.
func sample(t *testing.T, of reflect.Type) reflect.Value {
	t.Helper()

	v := reflect.New(of).Elem()

	switch x := v.Addr().Interface().(type) {
	case *netip.Addr:
		*x = netip.MustParseAddr("192.0.2.1")
	case *netip.Prefix:
		*x = netip.MustParsePrefix("192.0.2.0/24")
	case *value.URL:
		x.Host = "a.example"
	case *time.Duration:
		*x = time.Second
	default:
		switch of.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(of.Elem()))
			v.Elem().Set(sample(t, of.Elem()))
		case reflect.Slice:
			v.Set(reflect.Append(v, sample(t, of.Elem())))
		case reflect.Map:
			v.Set(reflect.MakeMap(of))
			v.SetMapIndex(reflect.ValueOf("a"), sample(t, of.Elem()))
		case reflect.Interface:
			v.Set(reflect.ValueOf("a"))
		case reflect.Struct:
			v.Field(0).Set(sample(t, of.Field(0).Type))
		case reflect.String:
			v.SetString("a")
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.Set(reflect.ValueOf(7).Convert(of))
		}
	}

	return v
}

// TestOwnTaint: a document without the taint of control planes lets ordinary pods run there, unless a key says otherwise.
func TestOwnTaint(t *testing.T) {
	const (
		document = "---\napiVersion: v1alpha1\nkind: KubeNodeConfig\n"
		taint    = "taints: {node-role.kubernetes.io/control-plane: ':NoSchedule'}\n"
	)

	for _, tt := range []struct {
		name, text string
		want       *bool
	}{
		{"no document", "machine: {type: controlplane}\n", nil},
		{"a document without the taint", "machine: {type: controlplane}\n" + document, new(true)},
		{"a document with the taint", "machine: {type: controlplane}\n" + document + taint, nil},
		{"a key", "machine: {type: controlplane}\ncluster: {allowSchedulingOnControlPlanes: false}\n" + document, new(false)},
		{"a worker", "machine: {type: worker}\n" + document, nil},
	} {
		main, _ := Of(decode(t, tt.text))
		if diff := cmp.Diff(tt.want, main.Cluster.AllowSchedulingOnControlPlanes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
