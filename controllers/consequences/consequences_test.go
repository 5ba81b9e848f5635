// SPDX-License-Identifier: Apache-2.0

package consequences_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/controllers/consequences"
)

func TestOf(t *testing.T) {
	const (
		apiServer  = "replaces the pod of kube-apiserver"
		containerd = "restarts containerd; containers go on"
		registers  = "if that is a new name, it registers as another node, the kubelet and etcd restart, and the old node stays until it is deleted (kubectl delete node)"
	)

	authority, _ := config.KindOf("TrustedRootsConfig")

	for _, tt := range []struct {
		name, patch string
		worker      bool
		want        []string
	}{
		{"a sysctl", "machine: {sysctls: {a.b: '1'}}", false, nil},
		{"a password of a registry", "machine: {registries: {config: {r.example: {auth: {username: a, password: b}}}}}", true, []string{containerd}},
		{"a document with a password", "apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: r.example\nusername: a\npassword: b\n", true, []string{containerd}},
		{"a mirror", "machine: {registries: {mirrors: {r.example: {endpoints: ['https://m.example']}}}}", true, nil},
		{"the runtime specification", "machine: {baseRuntimeSpecOverrides: {process: {noNewPrivileges: true}}}", true, []string{containerd}},
		{"a part of containerd's configuration", "apiVersion: v1alpha1\nkind: CRICustomizationConfig\nname: a\ncontent: oom_score = 1\n", true, []string{containerd}},
		{"a variable", "machine: {env: {HTTPS_PROXY: 'http://proxy.example:3128'}}", true, []string{containerd, "restarts the kubelet"}},
		{
			"a document with a variable", "apiVersion: v1alpha1\nkind: EnvironmentConfig\nvariables: {HTTPS_PROXY: 'http://proxy.example:3128'}\n", true,
			[]string{containerd, "restarts the kubelet"},
		},
		{"a trusted authority", authority.Example, true, []string{containerd, "restarts the kubelet"}},
		{"rules about images", "apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules: [{image: '*', skip: true}]\n", true, []string{"restarts the kubelet"}},
		{"the kubelet", "machine: {kubelet: {extraArgs: {v: '4'}}}", false, []string{"restarts the kubelet"}},
		{"the kubelet of a worker", "machine: {kubelet: {extraArgs: {v: '4'}}}", true, []string{"restarts the kubelet"}},
		{"the addresses of the kubelet", "machine: {kubelet: {nodeIP: {validSubnets: [192.0.2.0/24]}}}", true, []string{"restarts the kubelet"}},
		{"a name", "machine: {network: {hostname: m}}", true, []string{"names the machine m; " + registers}},
		{"a document with a name", "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: m\nauto: off\n", true, []string{"names the machine m; " + registers}},
		{"etcd", "cluster: {etcd: {extraArgs: {snapshot-count: '100'}}}", false, []string{"restarts etcd"}},
		{"the API server", "cluster: {apiServer: {extraArgs: {v: '4'}}}", false, []string{apiServer}},
		{"the audit policy", "cluster: {apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}]}}}", false, []string{apiServer}},
		{"the API server of a worker", "cluster: {apiServer: {extraArgs: {v: '4'}}}", true, nil},
		{"the scheduler", "cluster: {scheduler: {extraArgs: {v: '4'}}}", false, []string{"replaces the pod of kube-scheduler"}},
		{"the controller manager", "cluster: {controllerManager: {extraArgs: {v: '4'}}}", false, []string{"replaces the pod of kube-controller-manager"}},
		{"the proxy", "cluster: {proxy: {disabled: true}}", false, []string{"applies the manifests of the cluster (network, proxy, DNS) again, which may roll their pods"}},
		{
			"flannel", "cluster: {network: {cni: {name: none}}}", false, []string{
				"applies the manifests of the cluster (network, proxy, DNS) again, which may roll their pods",
				"deletes flannel from the cluster: new pods have no network until another one is installed",
			},
		},
		{"a static pod", "machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}]}", false, []string{"starts the static pod default-p"}},
		{"an installation", "machine: {install: {image: example.com/installer:v2}}", false, []string{"keeps for the next installation or upgrade: machine.install.image"}},
		{"a document", "apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: accept\n", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := configtest.ControlPlane(t)
			if tt.worker {
				text = configtest.Worker(t)
			}

			p, err := patch.Load([]string{tt.patch})
			if err != nil {
				t.Fatal(err)
			}

			changed, err := patch.Apply(text, p...)
			if err != nil {
				t.Fatal(err)
			}

			got := consequences.Of(decode(t, text), decode(t, changed))
			if diff := cmp.Diff(append(tt.want, "needs no reboot"), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPods compares pods of the configuration.
func TestPods(t *testing.T) {
	const (
		head = "machine:\n  type: worker\n  pods:\n"
		a    = "    - {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
		b    = "    - {apiVersion: v1, kind: Pod, metadata: {name: b}}\n"
	)

	got := consequences.Of(decode(t, []byte(head+a+b)), decode(t, []byte(head+"    - {apiVersion: v1, kind: Pod, metadata: {name: b, labels: {x: y}}}\n")))
	if diff := cmp.Diff([]string{"ends the static pod default-a", "replaces the static pod default-b", "needs no reboot"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestText(t *testing.T) {
	text := configtest.ControlPlane(t)

	got := consequences.Of(decode(t, text), decode(t, append([]byte("# a comment\n"), text...)))
	if diff := cmp.Diff([]string{"changes no setting: only the text differs"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, text []byte) *config.Config {
	t.Helper()

	cfg, err := config.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}
