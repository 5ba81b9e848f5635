// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/validate"
)

func patched(t *testing.T, text []byte, patches ...string) *config.Config {
	t.Helper()

	loaded, err := patch.Load(patches)
	if err != nil {
		t.Fatal(err)
	}

	if text, err = patch.Apply(text, loaded...); err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}

func TestExamplesAreValid(t *testing.T) {
	for name, text := range map[string][]byte{"control plane": configtest.ControlPlane(t), "worker": configtest.Worker(t)} {
		for _, mode := range []validate.Mode{validate.Metal, validate.Cloud, validate.Container} {
			warnings, err := validate.Validate(patched(t, text), mode)
			if err != nil {
				t.Errorf("%s, %s: %v", name, mode, err)
			}

			for _, warning := range warnings {
				if !strings.Contains(warning, "no effect in this version") {
					t.Errorf("%s, %s: warning %q", name, mode, warning)
				}
			}
		}
	}
}

// device returns a patch with one network interface.
func device(keys string) string {
	return "machine: {network: {interfaces: [{" + keys + "}]}}"
}

func TestFindings(t *testing.T) {
	const noAuto = "apiVersion: v1alpha1\nkind: HostnameConfig\n$patch: delete\n"

	for _, test := range []struct {
		name    string
		patches []string
		path    string // of the finding
		want    string // in its text
	}{
		{"no type", []string{"machine: {type: {$patch: delete}}"}, "machine.type", "is missing"},
		{"no token", []string{"machine: {token: {$patch: delete}}"}, "machine.token", "is missing"},
		{"bad token", []string{"machine: {token: abc}"}, "machine.token", "6 and 16"},
		{"bad bootstrap token", []string{"cluster: {token: ABCDEF.0123456789abcdef}"}, "cluster.token", "6 and 16"},
		{"no CA", []string{"machine: {ca: {$patch: delete}}"}, "machine.ca", "is missing"},
		{"no CA key", []string{"machine: {ca: {key: {$patch: delete}}}"}, "machine.ca.key", "is missing"},
		{"not a CA", []string{"machine: {ca: {crt: aGVsbG8=}}"}, "machine.ca", "not PEM"},
		{"no Kubernetes CA", []string{"cluster: {ca: {$patch: delete}}"}, "cluster.ca", "is missing"},
		{"no aggregator CA", []string{"cluster: {aggregatorCA: {$patch: delete}}"}, "cluster.aggregatorCA", "is missing"},
		{"no etcd CA", []string{"cluster: {etcd: {ca: {$patch: delete}}}"}, "cluster.etcd.ca", "is missing"},
		{"no service account", []string{"cluster: {serviceAccount: {$patch: delete}}"}, "cluster.serviceAccount.key", "is missing"},
		{"bad accepted CA", []string{"machine: {acceptedCAs: [{crt: aGVsbG8=}]}"}, "machine.acceptedCAs[0].crt", "not PEM"},
		{"no encryption secret", []string{"cluster: {secretboxEncryptionSecret: {$patch: delete}}"}, "cluster.secretboxEncryptionSecret", "is missing"},
		{"short encryption secret", []string{"cluster: {secretboxEncryptionSecret: aGVsbG8=}"}, "cluster.secretboxEncryptionSecret", "32 bytes"},
		{"no endpoint", []string{"cluster: {controlPlane: {endpoint: {$patch: delete}}}"}, "cluster.controlPlane.endpoint", "is missing"},
		{"http endpoint", []string{"cluster: {controlPlane: {endpoint: 'http://a:6443'}}"}, "cluster.controlPlane.endpoint", "want https"},
		{"bad port", []string{"cluster: {controlPlane: {localAPIServerPort: 70000}}"}, "cluster.controlPlane.localAPIServerPort", "not a port"},
		{"no install disk", []string{"machine: {install: {disk: {$patch: delete}}}"}, "machine.install", "names no disk"},
		{"overlap", []string{"cluster: {network: {podSubnets: [10.96.0.0/16]}}"}, "cluster.network", "overlap"},
		{"two of a family", []string{"cluster: {network: {podSubnets: [10.1.0.0/16, 10.2.0.0/16]}}"}, "cluster.network.podSubnets[1]", "second network of its family"},
		{"bad domain", []string{"cluster: {network: {dnsDomain: 'a b'}}"}, "cluster.network.dnsDomain", "not a domain"},
		{"bad CNI", []string{"cluster: {network: {cni: {name: calico}}}"}, "cluster.network.cni.name", "flannel, custom, none"},
		{"custom CNI without URLs", []string{"cluster: {network: {cni: {name: custom}}}"}, "cluster.network.cni.urls", "is missing"},
		{"no cluster id", []string{"cluster: {id: {$patch: delete}}"}, "cluster.id", "discovery needs it"},
		{"bad image", []string{"cluster: {apiServer: {image: 'a b'}}"}, "cluster.apiServer.image", "not an image"},
		{"bad proxy mode", []string{"cluster: {proxy: {mode: userspace}}"}, "cluster.proxy.mode", "unknown value"},
		{"bad manifest", []string{"cluster: {inlineManifests: [{name: a, contents: 'a: ['}]}"}, "cluster.inlineManifests[0].contents", "not YAML"},
		{"bad authorizer", []string{"cluster: {apiServer: {authorizationConfig: [{name: a, type: Magic}]}}"}, "cluster.apiServer.authorizationConfig[0].type", "unknown value"},
		{"bad etcd subnet", []string{"cluster: {etcd: {advertisedSubnets: [10.0.0.1]}}"}, "cluster.etcd.advertisedSubnets[0]", "not a network"},

		{"bad node subnet", []string{"machine: {kubelet: {nodeIP: {validSubnets: ['!nonsense']}}}"}, "machine.kubelet.nodeIP.validSubnets[0]", "not a network"},
		{"relative mount", []string{"machine: {kubelet: {extraMounts: [{destination: var/x}]}}"}, "machine.kubelet.extraMounts[0].destination", "absolute"},
		{"bad label", []string{"machine: {nodeLabels: {'a/b/c': x}}"}, `machine.nodeLabels["a/b/c"]`, "not the key"},
		{"bad label value", []string{"machine: {nodeLabels: {a: 'x y'}}"}, "machine.nodeLabels.a", "not the value"},
		{"bad taint", []string{"machine: {nodeTaints: {a: 'b:Never'}}"}, "machine.nodeTaints.a", "EFFECT"},
		{"bad sysctl", []string{"machine: {sysctls: {'../x': '1'}}"}, "machine.sysctls", "not a sysctl"},
		{"bad module", []string{"machine: {kernel: {modules: [{name: a/b}]}}"}, "machine.kernel.modules[0].name", "kernel module"},
		{"bad file", []string{"machine: {files: [{path: x, op: move, content: '', permissions: 0o600}]}"}, "machine.files[0].op", "create, append, overwrite"},
		{"a file of the system", []string{"apiVersion: v1alpha1\nkind: EtcFileConfig\nname: ssl/certs/x\ncontents: a\n"}, "EtcFileConfig[ssl/certs/x].name", "written by the system"},
		{"log server without a port", []string{"machine: {logging: {destinations: [{endpoint: 'tcp://192.0.2.1', format: json_lines}]}}"}, "machine.logging.destinations[0].endpoint", "has no port"},
		{"bad time server", []string{"machine: {time: {servers: ['a b']}}"}, "machine.time.servers[0]", "neither a hostname"},
		{"bad mirror", []string{"machine: {registries: {mirrors: {docker.io: {endpoints: ['mirror:5000']}}}}"}, `machine.registries.mirrors["docker.io"].endpoints[0]`, "not a registry"},
		{"disk encryption", []string{"machine: {systemDiskEncryption: {ephemeral: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}}}"}, "machine.systemDiskEncryption", "the disk would not be encrypted"},
		{"KubeSpan", []string{"machine: {network: {kubespan: {enabled: true}}}"}, "machine.network.kubespan.enabled", "would not be encrypted"},
		{"bad login of a registry", []string{"machine: {registries: {config: {r.example: {auth: {auth: aGVsbG8=}}}}}"}, `machine.registries.config["r.example"].auth.auth`, "not USER:PASSWORD"},
		{"a login for all registries", []string{"machine: {registries: {config: {'*': {auth: {username: a, password: b}}}}}"}, `machine.registries.config["*"].auth`, "one host each"},
		{"bad authority of a registry", []string{"machine: {registries: {config: {r.example: {tls: {ca: aGVsbG8=}}}}}"}, `machine.registries.config["r.example"].tls.ca`, "not PEM"},
		{"bad certificate for a registry", []string{"machine: {registries: {config: {r.example: {tls: {clientIdentity: {crt: aGVsbG8=, key: aGVsbG8=}}}}}}"}, `machine.registries.config["r.example"].tls.clientIdentity`, "not a certificate and its key"},
		{"two key sources", []string{"machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}, tpm: {}}]}}}"}, "machine.systemDiskEncryption.state.keys[0]", "2 sources"},

		{"bad hostname", []string{noAuto, "machine: {network: {hostname: a_b}}"}, "machine.network.hostname", "not a hostname"},
		{"hostname twice", []string{"machine: {network: {hostname: node}}"}, "machine.network.hostname", "the HostnameConfig document sets this too"},
		{"auto and hostname", []string{"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n"}, "HostnameConfig", "exclude each other"},
		{"bad auto", []string{"apiVersion: v1alpha1\nkind: HostnameConfig\nauto: always\n"}, "HostnameConfig.auto", "stable, off"},
		{"no link", []string{device("mtu: 1500")}, "machine.network.interfaces[0]", "names no link"},
		{"two names", []string{device("interface: a, deviceSelector: {driver: b}")}, "machine.network.interfaces[0]", "exclude each other"},
		{"empty selector", []string{device("deviceSelector: {}")}, "machine.network.interfaces[0].deviceSelector", "is empty"},
		{"bad address", []string{device("interface: a, addresses: [192.0.2.300/24]")}, "machine.network.interfaces[0].addresses[0]", "not an address"},
		{"small MTU", []string{device("interface: a, mtu: 5")}, "machine.network.interfaces[0].mtu", "too small"},
		{"empty route", []string{device("interface: a, routes: [{metric: 1}]")}, "machine.network.interfaces[0].routes[0]", "neither"},
		{"mixed route", []string{device("interface: a, routes: [{network: 10.0.0.0/8, gateway: 'fe80::1'}]")}, "machine.network.interfaces[0].routes[0].gateway", "different families"},
		{"bad VLAN", []string{device("interface: a, vlans: [{vlanId: 5000}]")}, "machine.network.interfaces[0].vlans[0].vlanId", "1 to 4094"},
		{"bad VIP", []string{device("interface: a, vip: {ip: x}")}, "machine.network.interfaces[0].vip.ip", "not an address"},
		{"empty bond", []string{device("interface: a, bond: {mode: x}")}, "machine.network.interfaces[0].bond.mode", "unknown value"},
		{"host without names", []string{"machine: {network: {extraHostEntries: [{ip: 192.0.2.1, aliases: []}]}}"}, "machine.network.extraHostEntries[0].aliases", "is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := validate.Validate(patched(t, configtest.ControlPlane(t), test.patches...), validate.Metal)

			var findings validate.Findings
			if !errors.As(err, &findings) {
				t.Fatalf("got %v, want findings", err)
			}

			for _, finding := range findings {
				if finding.Path == test.path && strings.Contains(finding.Text, test.want) {
					return
				}
			}

			t.Errorf("got %v, want %q at %s", err, test.want, test.path)
		})
	}
}

func TestModes(t *testing.T) {
	cfg := patched(t, configtest.ControlPlane(t), "machine: {install: {$patch: delete}, features: {hostDNS: {$patch: delete}}}")

	for mode, want := range map[validate.Mode]string{
		validate.Metal:     "machine.install",
		validate.Cloud:     "",
		validate.Container: "machine.features.hostDNS",
	} {
		_, err := validate.Validate(cfg, mode)

		switch {
		case want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", mode, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q in it", mode, err, want)
		}
	}

	if _, err := validate.ParseMode("qemu"); err == nil {
		t.Error("mode qemu: got no error")
	}
}

func TestWorker(t *testing.T) {
	cfg := patched(t, configtest.ControlPlane(t), "machine: {type: worker}", device("interface: a, vip: {ip: 192.0.2.1}"))

	warnings, err := validate.Validate(cfg, validate.Metal)
	if err == nil || !strings.Contains(err.Error(), "machine.network.interfaces[0].vip") {
		t.Errorf("got %v, want the VIP refused", err)
	}

	for _, want := range []string{"machine.ca.key", "cluster.ca.key", "cluster.etcd.ca", "cluster.serviceAccount", "cluster.aggregatorCA"} {
		if !strings.Contains(strings.Join(warnings, "\n"), want+":") {
			t.Errorf("no warning of %s in %q", want, warnings)
		}
	}
}

// TestRegistryHosts checks that settings of what is not the host of a registry are accepted, as in existing configurations, with a warning.
func TestRegistryHosts(t *testing.T) {
	cfg := patched(t, configtest.ControlPlane(t), "machine: {registries: {mirrors: {docker.io/library: {endpoints: ['https://m.example']}, "+
		"'*': {endpoints: ['https://m.example']}}, config: {r.example/a: {tls: {insecureSkipVerify: true}}, '*': {tls: {insecureSkipVerify: true}}}}}")

	warnings, err := validate.Validate(cfg, validate.Metal)
	if err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]bool{
		`mirrors["docker.io/library"]: has no effect`: true, `config["r.example/a"]: has no effect`: true, `["*"]`: false,
	} {
		if strings.Contains(strings.Join(warnings, "\n"), "machine.registries."+path) != want {
			t.Errorf("a warning of %s: got %t in %q", path, !want, warnings)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	const secret = "supersecretvalue"

	cfg := patched(t, configtest.ControlPlane(t), "machine: {token: "+secret+"}\ncluster: {token: "+secret+", secretboxEncryptionSecret: "+secret+"}")

	_, err := validate.Validate(cfg, validate.Metal)
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v, want an error without the secret", err)
	}
}

// TestNoMainDocument: documents alone are checked as those of a whole configuration are.
func TestNoMainDocument(t *testing.T) {
	for text, wrong := range map[string]string{
		"kind: HostnameConfig\nauto: off\nhostname: a\n":                       "",
		"kind: VolumeConfig\nname: EPHEMERAL\nencryption: {provider: luks2}\n": "encryption",
	} {
		cfg, err := config.Decode([]byte("apiVersion: v1alpha1\n" + text))
		if err != nil {
			t.Fatal(err)
		}

		warnings, err := validate.Validate(cfg, validate.Metal)
		if len(warnings) == 0 || !strings.Contains(warnings[0], "no v1alpha1 document") {
			t.Errorf("%s: got the warnings %q", text, warnings)
		}

		if (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: got %v, want an error about %q", text, err, wrong)
		}
	}
}

// TestChangeOfNetwork checks that the loss of flannel, which nothing in the new configuration names, gives a warning.
func TestChangeOfNetwork(t *testing.T) {
	const (
		head    = "version: v1alpha1\nmachine: {type: "
		cluster = "---\napiVersion: v1alpha1\nkind: KubeClusterConfig\n"
		flannel = "---\napiVersion: v1alpha1\nkind: KubeFlannelCNIConfig\n"
		plane   = head + "controlplane}\n"
		none    = plane + "cluster: {network: {cni: {name: none}}}\n"
	)

	for _, test := range []struct {
		name, from, to string
		want           bool
	}{
		{"to documents", plane, plane + cluster, true},
		{"to documents with flannel", plane, plane + cluster + flannel, false},
		{"no change", plane, plane, false},
		{"an own network before", none, plane + cluster, false},
		{"an own network on purpose", plane, none, false},
		{"a worker", head + "worker}\n", head + "worker}\n" + cluster, false},
	} {
		from, err1 := config.Decode([]byte(test.from))
		to, err2 := config.Decode([]byte(test.to))

		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}

		warnings, err := validate.Change(from, to)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}

		if got := len(warnings) == 1 && strings.Contains(warnings[0], "KubeFlannelCNIConfig"); got != test.want || len(warnings) > 1 {
			t.Errorf("%s: got the warnings %q, want one: %t", test.name, warnings, test.want)
		}
	}
}

func TestChange(t *testing.T) {
	controlPlane, worker := patched(t, configtest.ControlPlane(t)), patched(t, configtest.Worker(t))

	part, err := config.Decode([]byte("apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\n"))
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name     string
		from, to *config.Config
		want     string
	}{
		{"same", worker, worker, ""},
		{"out of maintenance", part, worker, ""},
		{"other type", worker, controlPlane, "cannot become"},
		{"no main document", worker, part, "no v1alpha1 document"},
	} {
		_, err := validate.Change(test.from, test.to)

		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}
}
