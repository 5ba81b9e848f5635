// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/layout"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/container"
)

// insideVariable marks the copy of the test that runs in its own network namespace.
const insideVariable = "TALOS_TEST_REAL_CONTROL_PLANE"

const realPatience = 2 * time.Minute

// TestRealControlPlane starts the real etcd, API server, controller manager and scheduler with the rendered command lines and files, each as its
// own user with the node's root as its root. It waits until the bootstrap manifests are applied: only the programs themselves show that a flag,
// a file or a certificate is valid.
func TestRealControlPlane(t *testing.T) { withPrograms(t, realControlPlane) }

// withPrograms runs a test with the built programs, in a network namespace of its own.
func withPrograms(t *testing.T, do func(t *testing.T, binaries string)) {
	t.Helper()

	binaries, err := filepath.Abs("../../out/components/bin")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if _, err := os.Stat(filepath.Join(binaries, name)); err != nil {
			hosttest.NotBuilt(t, fmt.Errorf("the programs are not built (%w): run make build", err))
		}
	}

	switch {
	case os.Getenv(insideVariable) != "":
		do(t, binaries)
	case testing.Short():
		t.Skip("starts a control plane, which takes a minute")
	case os.Geteuid() != 0:
		t.Skip("needs root for a network namespace and users")
	default:
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
		cmd.Env = append(os.Environ(), insideVariable+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}

		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

func realControlPlane(t *testing.T, binaries string) {
	bundle := generateSecrets(t)
	c, programs, client, kubeconfigs := startReal(t, binaries, generate.Options{Secrets: bundle, AllowSchedulingOnControlPlanes: true})
	ctx := context.Background()

	probes(t, kubeconfigs.LocalhostAdminKubeconfig)
	kubeletRights(t, client)
	registerNode(t, c, kubeconfigs.LocalhostAdminKubeconfig)

	eventually(t, "the bootstrap manifests are applied", func() error {
		status, err := typed.Get[k8sres.ManifestStatusSpec](ctx, c.State, "", k8sres.ManifestStatusID)
		if err == nil && len(status.TypedSpec().ManifestsApplied) != 13 {
			return fmt.Errorf("got only %q", status.TypedSpec().ManifestsApplied)
		}

		return err
	})
	readsHealth(t, c, kubeconfigs.LocalhostAdminKubeconfig)
	eventually(t, "the controller manager works", func() error {
		_, err := client.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default")

		return err
	})
	t.Run("serving certificates", func(t *testing.T) { serving(t, c, client, kubeconfigs.LocalhostAdminKubeconfig) })
	joinWorker(t, bundle, client)
	eventually(t, "the deployment of DNS has its pods", func() error {
		list, err := client.Get(ctx, "/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-dns")
		if items, _ := list["items"].([]any); err == nil && len(items) != 2 {
			return fmt.Errorf("got %d pods, want 2", len(items))
		}

		return err
	})
	reloads(t, c, kubeconfigs.LocalhostAdminKubeconfig)
	followEdits(t, c, client)
	strangers(t, c, bundle, programs)
}

// startReal starts the programs of a control plane.
func startReal(t *testing.T, binaries string, opts generate.Options) (*cluster, *programs, *kube.Client, secretsres.KubernetesCertsSpec) {
	t.Helper()
	setUpLoopback(t)

	c := &cluster{supervisor: &controllertest.Supervisor{}, root: controllertest.Root(t), opts: opts, etcd: true}
	c.start(t, nil)
	c.mount()

	programs := &programs{running: map[string]func(){}, t: t, root: c.root, binaries: binaries}
	ctx := context.Background()

	if err := etcd.RequestBootstrap(ctx, c.State, c.root, etcdres.BootstrapRequestSpec{}); err != nil {
		t.Fatal(err)
	}

	waitService(t, c, "etcd", "/usr/local/bin/etcd")

	service, _, _ := c.supervisor.Service("etcd")

	programs.start("etcd", service.Runner.(*etcd.Runner).Etcd.(*container.Container).Argv, layout.UserEtcd)
	eventually(t, "etcd is healthy", func() error { return service.Health.Check(ctx) })

	c.Service("etcd", true)

	if err := etcd.RequestBootstrap(ctx, c.State, c.root, etcdres.BootstrapRequestSpec{}); err != etcd.ErrHasData {
		t.Errorf("second bootstrap: got %v, want %v", err, etcd.ErrHasData)
	}

	for _, id := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		var pod kube.Object

		// The pods after the first wait for a real API server.
		eventually(t, "the pod of "+id+" exists", func() error {
			spec, err := typed.Get[k8sres.StaticPodSpec](ctx, c.State, "", id)
			if err == nil {
				pod = spec.TypedSpec().Pod
			}

			return err
		})

		uid := pod["spec"].(kube.Object)["securityContext"].(kube.Object)["runAsUser"].(int)

		programs.start(id, args(t, pod), uid)
	}

	kubeconfigs := controllertest.Wait[secretsres.KubernetesCertsSpec](c.Node, secretsres.KubernetesID, nil)

	client, err := kube.NewFromText([]byte(kubeconfigs.LocalhostAdminKubeconfig))
	if err != nil {
		t.Fatal(err)
	}

	eventually(t, "the API server is ready", func() error {
		_, err := client.Get(ctx, "/api/v1/namespaces/kube-system")

		return err
	})

	return c, programs, client, kubeconfigs
}

// probes checks that only the kubelet's probes are permitted without a certificate.
func probes(t *testing.T, admin string) {
	t.Helper()

	config, err := kubeconfig.Parse([]byte(admin))
	if err != nil {
		t.Fatal(err)
	}

	config.Crt, config.Key = nil, nil

	anonymous, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer anonymous.Close()

	eventually(t, "probes pass without a certificate", func() error { return anonymous.Ready(t.Context()) })

	_, err = anonymous.Get(t.Context(), "/version")
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("another path without a certificate: got %v, want 401", err)
	}
}

// registerNode checks that a kubelet of a control plane can register its own Node with its first certificate, and no other Node.
func registerNode(t *testing.T, c *cluster, admin string) {
	t.Helper()

	config, err := kubeconfig.Parse([]byte(admin))
	if err != nil {
		t.Fatal(err)
	}

	root := controllertest.Wait[secretsres.KubernetesRootSpec](c.Node, secretsres.KubernetesRootID, nil)

	identity, err := kubelet.NewIdentity(root, "cp1")
	if err != nil {
		t.Fatal(err)
	}

	config.Crt, config.Key = identity, identity

	client, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	node := func(name string) kube.Object {
		return kube.Object{"apiVersion": "v1", "kind": "Node", "metadata": kube.Object{"name": name}}
	}

	eventually(t, "the kubelet registers its Node", func() error {
		_, err := client.Create(t.Context(), "/api/v1/nodes", node("cp1"))

		return err
	})

	if _, err := client.Create(t.Context(), "/api/v1/nodes", node("other")); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("another Node: got %v, want 403", err)
	}
}

// kubeletRights checks the permissions of the API server's client certificate: everything on kubelets, and nothing else.
func kubeletRights(t *testing.T, client *kube.Client) {
	t.Helper()

	allowed := func(verb, resource, subresource string) (bool, error) {
		review, err := client.Create(t.Context(), "/apis/authorization.k8s.io/v1/subjectaccessreviews", kube.Object{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
			"spec": kube.Object{
				"user": "apiserver-kubelet-client", "groups": []any{secretsres.KubeletClientGroup, "system:authenticated"},
				"resourceAttributes": kube.Object{"verb": verb, "resource": resource, "subresource": subresource},
			},
		})
		status, _ := review["status"].(kube.Object)

		return status["allowed"] == true, err
	}

	for _, subresource := range []string{"proxy", "log", "stats", "metrics"} {
		for _, verb := range []string{"get", "create"} {
			eventually(t, "the API server may "+verb+" nodes/"+subresource, func() error {
				if ok, err := allowed(verb, "nodes", subresource); err != nil || !ok {
					return fmt.Errorf("got %t, %w", ok, err)
				}

				return nil
			})
		}
	}

	for _, resource := range []string{"secrets", "pods", "clusterroles"} {
		if ok, err := allowed("create", resource, ""); ok || err != nil {
			t.Errorf("create %s with the certificate for kubelets: got %t, %v, want it refused", resource, ok, err)
		}
	}
}

// setUpLoopback gives the namespace the node's address.
func setUpLoopback(t *testing.T) {
	t.Helper()

	for _, do := range [][]string{{"link", "set", "lo", "up"}, {"address", "add", controllertest.Address.String(), "dev", "lo"}} {
		if out, err := exec.Command(hosttest.Need(t, "ip"), do...).CombinedOutput(); err != nil {
			t.Skipf("ip %s: %v: %s", strings.Join(do, " "), err, out)
		}
	}
}

// programs runs the node's programs.
type programs struct {
	t              *testing.T
	root, binaries string
	// running stops a program and waits for its end.
	running map[string]func()
}

// stop stops a program before the end of the test.
func (p *programs) stop(id string) { p.running[id]() }

// start runs a program with the node's root as its root, until the test ends. Its output is shown when the test fails.
func (p *programs) start(id string, argv []string, uid int) {
	p.t.Helper()

	target := filepath.Join(p.root, argv[0])
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		p.t.Fatal(err)
	}

	copyFile(p.t, filepath.Join(p.binaries, filepath.Base(argv[0])), target)

	for _, dir := range []string{p.root, filepath.Join(p.root, "system"), filepath.Join(p.root, "var"), filepath.Join(p.root, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			p.t.Fatal(err)
		}

		_ = os.Chmod(dir, 0o755)
	}

	_ = os.Chmod(filepath.Join(p.root, "tmp"), 0o777)

	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "$(POD_IP)", controllertest.Address.Addr().String())
	}

	log, err := os.Create(filepath.Join(p.t.TempDir(), id+".log"))
	if err != nil {
		p.t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	//program:built the programs of a node, in its root
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = "/", log, log, []string{"HOME=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}

	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}

	done := make(chan struct{})

	go func() {
		defer close(done)

		if err := cmd.Wait(); ctx.Err() == nil {
			p.t.Errorf("%s ended by itself: %v", id, err)
		}
	}()

	p.running[id] = func() { cancel(); <-done }

	p.t.Cleanup(func() {
		p.stop(id)

		if text, err := os.ReadFile(log.Name()); err == nil && p.t.Failed() {
			p.t.Logf("%s:\n%s", id, text[max(0, len(text)-6000):])
		}
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()

	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}

	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()

	for deadline := time.Now().Add(realPatience); ; time.Sleep(200 * time.Millisecond) {
		err := check()
		if err == nil {
			t.Logf("%s", what)

			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %s: %v", what, realPatience, err)
		}
	}
}
