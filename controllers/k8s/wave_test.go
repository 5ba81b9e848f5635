// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/block"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/files"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
)

type cluster struct {
	*controllertest.Node

	supervisor *controllertest.Supervisor
	root       string
	opts       generate.Options
	// etcd is set if there is a real one. Without it, the test says that the node has a member.
	etcd bool
}

// controlPlane is a node with all controllers of Kubernetes, up to a healthy etcd.
func controlPlane(t *testing.T, opts generate.Options) *cluster {
	t.Helper()

	return controlPlaneFetching(t, opts, nil)
}

// controlPlaneFetching is a control plane with a Fetch.
func controlPlaneFetching(t *testing.T, opts generate.Options, fetch k8s.Fetch) *cluster {
	t.Helper()

	c := &cluster{supervisor: &controllertest.Supervisor{}, root: controllertest.Root(t), opts: opts}
	c.start(t, fetch)
	c.mount()

	return c
}

// start boots the node on its root, up to the volumes.
func (c *cluster) start(t *testing.T, fetch k8s.Fetch) {
	t.Helper()

	ofEtcd := etcd.Controllers(etcd.Deps{Supervisor: c.supervisor, Root: c.root, Fetch: fetch})
	if !c.etcd {
		ofEtcd = slices.DeleteFunc(ofEtcd, func(c controller.Controller) bool { return c.Name() == "etcd.MembershipController" })
	}

	c.Node = controllertest.Start(t, slices.Concat(
		secrets.Controllers(), ofEtcd,
		k8s.Controllers(k8s.Deps{Supervisor: c.supervisor, Root: c.root, Fetch: fetch}),
	)...)

	if !c.etcd {
		controllertest.Set(c.Node, etcdres.MembershipID, etcdres.MembershipStatusSpec{Intent: etcdres.IntentNone, Step: etcdres.StepMember})
	}

	c.Ready(c.opts)
}

func (c *cluster) mount() {
	for _, id := range []string{"etcd-EPHEMERAL", "kubelet-EPHEMERAL", "nodename-EPHEMERAL"} {
		controllertest.Set(c.Node, id, block.VolumeMountStatusSpec{VolumeID: block.VolumeEphemeral, Target: "/var"})
	}
}

// text returns the configuration with patches.
func (c *cluster) text(t *testing.T, patches ...string) []byte {
	t.Helper()

	opts := c.opts

	loaded, err := patch.Load(patches)
	if err != nil {
		t.Fatal(err)
	}

	opts.Patches = loaded

	out, err := generate.New("test", "https://172.20.0.2:6443", "", opts)
	if err != nil {
		t.Fatal(err)
	}

	return out.ControlPlane
}

func args(t *testing.T, pod kube.Object) []string {
	t.Helper()

	spec := pod["spec"].(kube.Object)
	container := spec["containers"].([]any)[0].(kube.Object)

	var out []string
	for _, arg := range container["command"].([]any) {
		out = append(out, arg.(string))
	}

	return out
}

// TestWave checks the way from a configuration to running pods, and back when an edit is reverted.
func TestWave(t *testing.T) {
	bundle := generateSecrets(t)
	c := controlPlane(t, generate.Options{Secrets: bundle})

	controllertest.Wait[k8sres.SecretsStatusSpec](c.Node, k8sres.StaticPodsID, nil)
	controllertest.Wait[k8sres.ConfigStatusSpec](c.Node, k8sres.StaticPodsID, nil)

	waitService(t, c, "etcd", "waiting")

	// There are no pods before etcd is healthy.
	if _, err := os.Stat(filepath.Join(c.root, "/system/secrets/kubernetes/kube-apiserver/apiserver.key")); err != nil {
		t.Errorf("keys: got %v, want them on disk", err)
	}

	c.Service("etcd", true)

	first := controllertest.Wait[k8sres.StaticPodSpec](c.Node, "kube-apiserver", nil)
	waitService(t, c, "kubelet", "")

	// The kubelet of a control plane has its certificates at once, under the paths in its container.
	for _, kind := range []string{"client", "server"} {
		link, err := os.Readlink(filepath.Join(c.root, "/var/lib/kubelet/pki/kubelet-"+kind+"-current.pem"))
		if err != nil || !strings.HasPrefix(link, "/var/lib/kubelet/pki/kubelet-"+kind+"-2") {
			t.Errorf("kubelet's certificate as a %s: got a link to %q, %v", kind, link, err)
		}
	}

	// Another argument replaces the pod; when the edit is reverted, the first pod comes back.
	text := func(patches ...string) []byte { return c.text(t, patches...) }

	c.Configure(text("cluster: {apiServer: {extraArgs: {v: \"4\"}}}"))

	second := controllertest.Wait(c.Node, "kube-apiserver", func(s k8sres.StaticPodSpec) bool {
		return slices.Contains(args(t, s.Pod), "--v=4")
	})

	c.Configure(text())

	third := controllertest.Wait(c.Node, "kube-apiserver", func(s k8sres.StaticPodSpec) bool {
		return !slices.Contains(args(t, s.Pod), "--v=4")
	})

	if got, want := args(t, third.Pod), args(t, first.Pod); !slices.Equal(got, want) {
		t.Errorf("reverted: got %q, want %q", got, want)
	}

	if len(args(t, second.Pod)) != len(args(t, first.Pod))+1 {
		t.Errorf("another argument: got %q", args(t, second.Pod))
	}

	// A denied argument leaves the running pod alone.
	version := controllertest.Version[k8sres.StaticPodSpec](c.Node, "kube-apiserver")

	c.Configure(text("cluster: {apiServer: {extraArgs: {etcd-servers: \"https://elsewhere\"}}}"))
	controllertest.Wait(c.Node, k8sres.APIServerID, func(s k8sres.APIServerConfigSpec) bool { return len(s.ExtraArgs) == 1 })
	time.Sleep(100 * time.Millisecond)

	if got := controllertest.Version[k8sres.StaticPodSpec](c.Node, "kube-apiserver"); got != version {
		t.Errorf("denied argument: got pod version %d, want %d", got, version)
	}
}

// TestHostname checks that a new hostname changes certificates and Nodename, and nothing else.
func TestHostname(t *testing.T) {
	c := controlPlane(t, generate.Options{Secrets: generateSecrets(t)})

	controllertest.Wait(c.Node, secretsres.KubernetesDynamicID, named(t, "cp1"))

	controllertest.Wait[secretsres.KubernetesCertsSpec](c.Node, secretsres.KubernetesID, nil)

	kubeconfigs := controllertest.Version[secretsres.KubernetesCertsSpec](c.Node, secretsres.KubernetesID)
	served := controllertest.Wait[k8sres.SecretsStatusSpec](c.Node, k8sres.APIServerID, nil)
	scheduled := controllertest.Wait[k8sres.SecretsStatusSpec](c.Node, k8sres.SchedulerID, nil)

	c.Hostname("other")

	controllertest.Wait(c.Node, secretsres.KubernetesDynamicID, named(t, "other"))
	controllertest.Wait(c.Node, k8sres.NodenameID, func(s k8sres.NodenameSpec) bool { return s.Nodename == "other" })
	controllertest.Wait(c.Node, k8sres.KubeletID, func(s k8sres.KubeletSpecSpec) bool {
		return slices.Contains(s.Args, "--hostname-override=other")
	})
	controllertest.Wait(c.Node, secretsres.APIID, func(s secretsres.APICertsSpec) bool {
		cert, err := pki.ParseCertificate(s.Server.Crt)

		return err == nil && slices.Contains(cert.DNSNames, "other")
	})

	onDisk(t, c, "other")

	if got := controllertest.Wait[k8sres.SecretsStatusSpec](c.Node, k8sres.SchedulerID, nil); got != scheduled {
		t.Errorf("the scheduler's keys, which have no hostname in them: got version %s, want %s", got.Version, scheduled.Version)
	}

	if got := controllertest.Version[secretsres.KubernetesCertsSpec](c.Node, secretsres.KubernetesID); got != kubeconfigs {
		t.Errorf("kubeconfigs, which have no hostname in them: got version %d, want %d", got, kubeconfigs)
	}

	// The same hostname again changes nothing.
	dynamic := controllertest.Version[secretsres.KubernetesDynamicCertsSpec](c.Node, secretsres.KubernetesDynamicID)

	c.Hostname("other")
	time.Sleep(100 * time.Millisecond)

	if got := controllertest.Version[secretsres.KubernetesDynamicCertsSpec](c.Node, secretsres.KubernetesDynamicID); got != dynamic {
		t.Errorf("the same name again: got version %d, want %d", got, dynamic)
	}

	// The API server reads its certificate again by itself.
	if got := controllertest.Wait[k8sres.SecretsStatusSpec](c.Node, k8sres.APIServerID, nil); got != served {
		t.Errorf("a new certificate: got version %s of what the API server reads once, want %s", got.Version, served.Version)
	}
}

// TestTrustedRoots checks that another bundle of authorities, which the kubelet reads only at its start, starts it again.
func TestTrustedRoots(t *testing.T) {
	c := controlPlane(t, generate.Options{Secrets: generateSecrets(t)})
	c.Service("etcd", true)

	waitService(t, c, "kubelet", "")

	first, _, _ := c.supervisor.Service("kubelet")

	controllertest.Set(c.Node, files.CABundle, files.EtcFileStatusSpec{SpecVersion: "2"})

	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if now, _, ok := c.supervisor.Service("kubelet"); ok && now.Fingerprint != first.Fingerprint {
			return
		}

		if time.Now().After(deadline) {
			t.Fatal("the kubelet was not started again")
		}
	}
}

func named(t *testing.T, name string) func(secretsres.KubernetesDynamicCertsSpec) bool {
	t.Helper()

	return func(s secretsres.KubernetesDynamicCertsSpec) bool {
		cert, err := pki.ParseCertificate(s.APIServer.Crt)

		return err == nil && slices.Contains(cert.DNSNames, name)
	}
}

// onDisk waits until the API server's certificate on disk has a name.
func onDisk(t *testing.T, c *cluster, name string) {
	t.Helper()
	eventually(t, "the API server's certificate is on disk", func() error {
		text, err := os.ReadFile(filepath.Join(c.root, "/system/secrets/kubernetes/kube-apiserver/apiserver.crt"))
		if err != nil {
			return err
		}

		cert, err := pki.ParseCertificate(text)
		if err == nil && !slices.Contains(cert.DNSNames, name) {
			return fmt.Errorf("got names %q", cert.DNSNames)
		}

		return err
	})
}

// waitService waits until the supervisor has a service, with a fingerprint if one is given.
func waitService(t *testing.T, c *cluster, id, fingerprint string) {
	t.Helper()

	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		svc, _, ok := c.supervisor.Service(id)
		if ok && (fingerprint == "" || strings.Contains(svc.Fingerprint, fingerprint)) {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("service %s: got %q, %v; want %q in the fingerprint", id, svc.Fingerprint, ok, fingerprint)
		}
	}
}
