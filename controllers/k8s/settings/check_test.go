// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/platform"
)

// TestCheck checks that settings that a controller could not apply, or a program would refuse, are found before a configuration is accepted.
func TestCheck(t *testing.T) {
	const pod = "machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: x}]}}]}"

	for name, test := range map[string]struct {
		patches []string
		// want is part of PATH: TEXT; empty if nothing is found.
		want string
	}{
		"a generated configuration": {},
		"an external cloud provider": {patches: []string{
			"cluster: {externalCloudProvider: {enabled: true}}",
		}},
		"a flag of the system": {
			patches: []string{"cluster: {apiServer: {extraArgs: {etcd-servers: x}}}"},
			want:    `cluster.apiServer.extraArgs: kube-apiserver: extra argument "etcd-servers" is not allowed`,
		},
		"no verification of kubelets":              {patches: []string{`cluster: {apiServer: {extraArgs: {kubelet-certificate-authority: ""}}}`}},
		"another authority of kubelets":            {patches: []string{"cluster: {apiServer: {extraArgs: {kubelet-certificate-authority: /x}}}"}},
		"a kubelet that serves by flag":            {patches: []string{`machine: {kubelet: {extraArgs: {rotate-server-certificates: "true"}}}`}},
		"a kubelet that signs its own certificate": {patches: []string{"machine: {kubelet: {extraConfig: {serverTLSBootstrap: false}}}"}},
		"a kubelet that serves what it has":        {patches: []string{"machine: {kubelet: {extraConfig: {tlsCertFile: /x, tlsPrivateKeyFile: /y}}}"}},
		"a flag that does not exist": {
			patches: []string{"cluster: {controllerManager: {extraArgs: {nonsense: x}}}"},
			want:    "cluster.controllerManager.extraArgs: kube-controller-manager 1.36 has no flag --nonsense",
		},
		"a value that cannot be": {
			patches: []string{"cluster: {scheduler: {extraArgs: {leader-elect-lease-duration: soon}}}"},
			want:    "cluster.scheduler.extraArgs: kube-scheduler: --leader-elect-lease-duration",
		},
		"a flag of kube-proxy": {
			patches: []string{"cluster: {proxy: {extraArgs: {config: /x}}}"},
			want:    `cluster.proxy.extraArgs: kube-proxy: extra argument "config" is not allowed`,
		},
		"a flag of the kubelet": {
			patches: []string{"machine: {kubelet: {extraArgs: {cert-dir: /x}}}"},
			want:    `machine.kubelet.extraArgs: kubelet: extra argument "cert-dir" is not allowed`,
		},
		"another service of images": {
			patches: []string{"machine: {kubelet: {extraConfig: {imageServiceEndpoint: 'unix:///x'}}}"},
			want:    `machine.kubelet.extraConfig: field "imageServiceEndpoint" is not allowed`,
		},
		"another service of images, and rules": {
			patches: []string{
				"machine: {kubelet: {extraConfig: {imageServiceEndpoint: 'unix:///x'}}}",
				"apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules: [{image: '*', skip: true}]\n",
			},
			want: `machine.kubelet.extraConfig: field "imageServiceEndpoint" is not allowed`,
		},
		"rules about images": {patches: []string{"apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules: [{image: '*', skip: true}]\n"}},
		"a flag for another service of images": {
			patches: []string{"machine: {kubelet: {extraArgs: {image-service-endpoint: 'unix:///x'}}}"},
			want:    `machine.kubelet.extraArgs: kubelet: extra argument "image-service-endpoint" is not allowed`,
		},
		"a field that the system sets": {
			patches: []string{"machine: {kubelet: {extraConfig: {cgroupDriver: systemd}}}"},
			want:    `machine.kubelet.extraConfig: field "cgroupDriver" is not allowed`,
		},
		"a field that the kubelet does not have": {
			patches: []string{"machine: {kubelet: {extraConfig: {maxpods: 5}}}"},
			want:    "machine.kubelet.extraConfig.maxpods: there is no such field",
		},
		"a field of another type": {
			patches: []string{"machine: {kubelet: {extraConfig: {maxPods: many}}}"},
			want:    "machine.kubelet.extraConfig.maxPods: want a whole number of 32 bits",
		},
		"two mounts at one place": {
			patches: []string{"machine: {kubelet: {extraMounts: [{destination: /a, type: bind, source: /b}, {destination: /a, type: bind, source: /c}]}}"},
			want:    `machine.kubelet.extraMounts[1].destination: "/a" is used twice`,
		},
		"credential providers without programs": {
			patches: []string{"machine: {kubelet: {credentialProviderConfig: {apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, providers: [{name: x}]}}}"},
			want:    "machine.kubelet.credentialProviderConfig: the kubelet does not start without the providers' programs",
		},
		"credential providers with programs": {
			patches: []string{"machine: {kubelet: {extraMounts: [{destination: /usr/local/lib/kubelet/credentialproviders, type: bind, source: /var/x}], " +
				"credentialProviderConfig: {apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, providers: [{name: x}]}}}"},
		},
		"two volumes at one place": {
			patches: []string{"cluster: {apiServer: {extraVolumes: [{hostPath: /a, mountPath: /m}, {hostPath: /b, mountPath: /m/}]}}"},
			want:    `cluster.apiServer: its pod would not run: spec.containers[0].volumeMounts[4].mountPath: "/m" is used twice`,
		},
		"a volume over the system's": {
			patches: []string{"cluster: {controllerManager: {extraVolumes: [{hostPath: /a, mountPath: /system/secrets/kubernetes/kube-controller-manager}]}}"},
			want:    "cluster.controllerManager: its pod would not run: spec.containers[0].volumeMounts[1].mountPath",
		},
		"not a quantity": {
			patches: []string{"cluster: {apiServer: {resources: {limits: {memory: much}}}}"},
			want:    "cluster.apiServer: its pod would not run: spec.containers[0].resources.limits.memory",
		},
		"a limit below the request": {
			patches: []string{"cluster: {scheduler: {resources: {requests: {cpu: 2}, limits: {cpu: 1}}}}"},
			want:    "spec.containers[0].resources.limits.cpu: 1 is below the request of 2",
		},
		"a limit below the default request": {patches: []string{"cluster: {apiServer: {resources: {limits: {memory: 300Mi}}}}"}},
		"a bad variable": {
			patches: []string{"cluster: {apiServer: {env: {'a=b': c}}}"},
			want:    `"a=b" is not the name of a variable`,
		},
		"an unknown field of the scheduler": {
			patches: []string{"cluster: {scheduler: {config: {profile: []}}}"},
			want:    "cluster.scheduler.config.profile: there is no such field",
		},
		"an audit policy's rule": {
			patches: []string{"cluster: {apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{levels: Metadata}]}}}"},
			want:    "cluster.apiServer.auditPolicy.rules[0].levels: there is no such field",
		},
		"a webhook": {
			patches: []string{"cluster: {apiServer: {authorizationConfig: [{type: Webhook, name: w, webhook: {timeout: 3}}]}}"},
			want:    "cluster.apiServer.authorizationConfig: authorizers[0].webhook.timeout: want a duration",
		},
		"a pod":                     {patches: []string{pod}},
		"a pod without a container": {patches: []string{"machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}]}"}, want: "machine.pods[0].spec.containers: is missing"},
		"a pod of another type": {
			patches: []string{"machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: none}}]}"},
			want:    "machine.pods[0].spec.containers: want a list",
		},
		"a pod twice": {patches: []string{pod, pod}, want: "machine.pods[1].metadata.name: another pod of machine.pods has this name"},
		"a pod with the name of a system pod": {
			patches: []string{"machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: kube-apiserver, namespace: kube-system}, spec: {containers: [{name: c, image: x}]}}]}"},
			want:    "would replace a pod of the control plane",
		},
		"a pod with the id of a system pod": {
			patches: []string{"machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: apiserver, namespace: kube}, spec: {containers: [{name: c, image: x}]}}]}"},
			want:    "would replace a pod of the control plane",
		},
		"a pod with a secret": {
			patches: []string{"machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: x}], volumes: [{name: v, secret: {secretName: s}}]}}]}"},
			want:    "machine.pods[0].spec.volumes[0].secret: a static pod cannot use",
		},
		"a manifest that is not an object": {
			patches: []string{"cluster: {inlineManifests: [{name: x, contents: '- a'}]}"},
			want:    "cluster.inlineManifests:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, problem := range Check(controlPlane(t, test.patches...)) {
				got = append(got, problem.Path+": "+problem.Text)
			}

			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestProgramsTakeCommandLines runs the real programs with their rendered command lines and --help, so that they parse the command line and exit.
func TestProgramsTakeCommandLines(t *testing.T) {
	binaries := "../../../out/components/bin"
	if _, err := os.Stat(binaries); err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("the programs are not built (%w): run make build", err))
	}

	for name, patches := range map[string][]string{
		"default":                 nil,
		"external cloud provider": {"cluster: {externalCloudProvider: {enabled: true}}"},
		"two address families":    {"cluster: {network: {podSubnets: [10.244.0.0/16, 'fd00:1::/56'], serviceSubnets: [10.96.0.0/12, 'fd00:2::/112']}}"},
		"older authentication":    {"cluster: {apiServer: {extraArgs: {anonymous-auth: 'false', authorization-mode: Webhook}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			for program, line := range commandLines(t, patches...) {
				//program:built one of out/components/bin
				out, err := exec.CommandContext(t.Context(), filepath.Join(binaries, program), append(line, "--help")...).CombinedOutput()
				if err != nil {
					t.Errorf("%s %q: %v\n%.300s", program, line, err, out)
				}
			}
		})
	}
}

func commandLines(t *testing.T, patches ...string) map[string][]string {
	t.Helper()

	cfg := controlPlane(t, patches...)
	root := secrets.KubernetesRootSpec{IssuerURL: "https://x:6443", APIAudiences: []string{"https://x:6443"}}
	out := map[string][]string{}

	note := func(program string, line []string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}

		// The kubelet would expand the address of the pod.
		for i := range line {
			line[i] = strings.ReplaceAll(line[i], "$(POD_IP)", "10.5.0.2")
		}

		out[program] = line
	}

	api := APIServer(cfg)

	line, err := pods.APIServerArgs(*api, root)
	note("kube-apiserver", line, err)

	manager := ControllerManager(cfg)

	line, err = pods.ControllerManagerArgs(*manager)
	note("kube-controller-manager", line, err)

	scheduler := Scheduler(cfg)

	line, err = pods.SchedulerArgs(*scheduler)
	note("kube-scheduler", line, err)

	boot, err := BootstrapManifests(cfg, platform.Platform{})
	if err != nil {
		t.Fatal(err)
	}

	note("kube-proxy", boot.ProxyArgs, nil)

	spec, err := kubelet.Spec(Kubelet(cfg), kubelet.Node{Name: "node", ControlPlane: true})
	note("kubelet", spec.Args, err)

	return out
}
