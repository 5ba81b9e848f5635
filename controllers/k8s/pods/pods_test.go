// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/folder"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

func apiServer(change func(*k8s.APIServerConfigSpec)) k8s.APIServerConfigSpec {
	cfg := k8s.APIServerConfigSpec{
		Image: images.DefaultKubeAPIServer, EtcdServers: []string{"https://127.0.0.1:2379"}, LocalPort: 6443,
		ServiceCIDRs: []string{"10.96.0.0/12"}, AdvertisedAddress: "$(POD_IP)", StartupProbesEnabled: true, UseAuthenticationConfig: true,
	}

	if change != nil {
		change(&cfg)
	}

	return cfg
}

var root = secrets.KubernetesRootSpec{IssuerURL: "https://172.20.0.2:6443", APIAudiences: []string{"https://172.20.0.2:6443"}}

// TestGolden checks the pods of a default configuration.
func TestGolden(t *testing.T) {
	versions := pods.Versions{Settings: "1", Secrets: "abc", ConfigFiles: "def"}

	api := apiServer(func(cfg *k8s.APIServerConfigSpec) {
		cfg.ExtraVolumes = []k8s.ExtraVolume{{Name: "extra-0", HostPath: "/var/mnt/x", MountPath: "/x", ReadOnly: true}}
		cfg.EnvironmentVariables = map[string]string{"HTTPS_PROXY": "http://proxy"}
		cfg.Resources = k8s.Resources{Requests: map[string]string{"cpu": "1"}, Limits: map[string]string{"memory": "2Gi"}}
	})

	manager := k8s.ControllerManagerConfigSpec{
		Enabled: true, Image: images.DefaultKubeControllerManager, PodCIDRs: []string{"10.244.0.0/16"}, ServiceCIDRs: []string{"10.96.0.0/12"},
	}
	scheduler := k8s.SchedulerConfigSpec{Enabled: true, Image: images.DefaultKubeScheduler}

	var err error

	if api.Args, err = pods.APIServerArgs(api, root); err != nil {
		t.Fatal(err)
	}

	if manager.Args, err = pods.ControllerManagerArgs(manager); err != nil {
		t.Fatal(err)
	}

	if scheduler.Args, err = pods.SchedulerArgs(scheduler); err != nil {
		t.Fatal(err)
	}

	for name, pod := range map[string]render.Object{
		"kube-apiserver":          pods.APIServerPod(api, versions),
		"kube-controller-manager": pods.ControllerManagerPod(manager, versions),
		"kube-scheduler":          pods.SchedulerPod(scheduler, versions),
	} {
		t.Run(name, func(t *testing.T) {
			var typed corev1.Pod

			decodeStrictly(t, pod, &typed)

			if got := typed.Spec.Containers[0].Image; !strings.Contains(strings.Join(images.Cache(), " "), got) {
				t.Errorf("image %s is not in the image cache", got)
			}

			golden(t, name+".yaml", pod)
		})
	}
}

func decodeStrictly(t *testing.T, object, into any) {
	t.Helper()

	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(into); err != nil {
		t.Fatalf("Kubernetes' own type does not decode it: %v", err)
	}
}

func golden(t *testing.T, name string, object any) {
	t.Helper()

	got, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join("testdata", name)

	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), -rewrite accepts it:\n%s", name, diff)
	}
}

// TestAPIServerArgs checks what the configuration can change in the command line.
func TestAPIServerArgs(t *testing.T) {
	for name, test := range map[string]struct {
		image         string
		extra         k8s.Args
		has, has2, no string
		err           string
	}{
		"structured authentication and authorization": {
			has:  "--authentication-config=/system/config/kubernetes/kube-apiserver/authentication-config.yaml",
			has2: "--authorization-config=/system/config/kubernetes/kube-apiserver/authorization-config.yaml", no: "--anonymous-auth",
		},
		"an older version has neither": {
			image: "registry.k8s.io/kube-apiserver:v1.31.4", has: "--anonymous-auth=false", has2: "--authorization-mode=Node,RBAC", no: "-config=/system/config/kubernetes/kube-apiserver/auth",
		},
		"a digest counts as current": {
			image: "registry.k8s.io/kube-apiserver@sha256:0000", has: "--authentication-config=", no: "--anonymous-auth",
		},
		"OIDC flags exclude structured authentication": {
			extra: k8s.Args{"oidc-issuer-url": {Values: []string{"https://x"}}}, has: "--oidc-issuer-url=https://x", has2: "--anonymous-auth=false", no: "--authentication-config",
		},
		"a webhook authorizer by flags is added to the modes": {
			extra: k8s.Args{"authorization-mode": {Values: []string{"Webhook"}}}, has: "--authorization-mode=Node,RBAC,Webhook", no: "--authorization-config",
		},
		"admission plugins are added": {
			extra: k8s.Args{"enable-admission-plugins": {Values: []string{"AlwaysPullImages"}}}, has: "--enable-admission-plugins=NodeRestriction,AlwaysPullImages",
		},
		"what may be changed": {
			extra: k8s.Args{"audit-log-maxage": {Values: []string{"7"}}}, has: "--audit-log-maxage=7", no: "--audit-log-maxage=30",
		},
		"what may not": {
			extra: k8s.Args{"client-ca-file": {Values: []string{"/x"}}}, err: `extra argument "client-ca-file" is not allowed`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := apiServer(func(cfg *k8s.APIServerConfigSpec) {
				if test.image != "" {
					cfg.Image = test.image
				}

				cfg.ExtraArgs = test.extra
				cfg.UseAuthenticationConfig = pods.UseAuthenticationConfig(cfg.Image, cfg.ExtraArgs)
			})

			got, err := pods.APIServerArgs(cfg, root)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			line := strings.Join(got, "\n")

			for _, want := range []string{test.has, test.has2} {
				if !strings.Contains(line, want) {
					t.Errorf("got\n%s\nwant %s", line, want)
				}
			}

			if test.no != "" && strings.Contains(line, test.no) {
				t.Errorf("got\n%s\nwant no %s", line, test.no)
			}
		})
	}
}

// TestSecretsIncomplete checks that keys are written only if all exist.
func TestSecretsIncomplete(t *testing.T) {
	if _, err := pods.SecretFolders(pods.Secrets{}); err == nil || !strings.Contains(err.Error(), "cluster.serviceAccount") {
		t.Errorf("no keys at all: got error %v, want one that names the first missing", err)
	}
}

// TestSecretsVersion checks that only files that a component reads at its start change the version. Each file of a component is here, so that a
// new one is looked at.
func TestSecretsVersion(t *testing.T) {
	once := map[string][]string{
		pods.APIServer:         {"encryptionconfig.yaml", "etcd-client-ca.crt", "service-account.key", "service-account.pub"},
		pods.ControllerManager: {"accepted-ca.crt", "kubeconfig", "service-account.key"},
		pods.Scheduler:         {"kubeconfig"},
	}

	key, _, err := pki.NewKeyPair(pki.Ed25519)
	if err != nil {
		t.Fatal(err)
	}

	pair := secrets.CertAndKey{Crt: []byte("crt"), Key: []byte("key")}

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519})
	if err != nil {
		t.Fatal(err)
	}

	folders, err := pods.SecretFolders(pods.Secrets{
		Root:    secrets.KubernetesRootSpec{ServiceAccount: secrets.Key{Key: key}, IssuingCA: secrets.CertAndKey(ca.PEM), AggregatorCA: pair},
		Dynamic: secrets.KubernetesDynamicCertsSpec{APIServer: pair},
		Etcd:    secrets.EtcdCertsSpec{EtcdAPIServer: pair},
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range folders {
		component, before := path.Base(f.Path), pods.SecretsVersion([]folder.Folder{f})

		var got []string

		for _, name := range slices.Sorted(maps.Keys(f.Files)) {
			changed := f
			changed.Files = maps.Clone(f.Files)
			changed.Files[name] = folder.Private([]byte("changed"))

			if pods.SecretsVersion([]folder.Folder{changed}) != before {
				got = append(got, name)
			}
		}

		if diff := cmp.Diff(once[component], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", component, diff)
		}
	}

	if len(folders) != len(once) {
		t.Errorf("got %d folders, want %d", len(folders), len(once))
	}
}

// TestKubeletCAVersion checks that only an API server that does not read the authority of kubelets again gets a new pod when it changes.
func TestKubeletCAVersion(t *testing.T) {
	for image, restarts := range map[string]bool{
		"registry.k8s.io/kube-apiserver:v1.35.4": true, "registry.k8s.io/kube-apiserver:v1.36.3": false, "registry.example.com/kube-apiserver@sha256:11": false,
	} {
		pod := func(version string) any {
			return pods.APIServerPod(k8s.APIServerConfigSpec{Image: image}, pods.Versions{KubeletCA: version})["metadata"]
		}

		if got := !cmp.Equal(pod("1"), pod("2")); got != restarts {
			t.Errorf("%s: restarted %t, want %t", image, got, restarts)
		}
	}
}
