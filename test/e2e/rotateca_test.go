// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestRotateCA replaces both authorities of a cluster while clients of the old and of the new ones work. In the end the old ones are
// refused, and pods have run all the time. It runs the commands of docs/rotate-ca.md.
func TestRotateCA(t *testing.T) {
	cluster.Above(t, cluster.Landing, "takes three minutes, most of which are restarts")
	cluster.NeedsTime(t, 14*time.Minute)

	l := cluster.NewUserLab(t, "e2e-rotate-ca")
	l.Create(10*time.Minute, "cluster", "create", "container", "--workers", "1")

	var (
		machines   = l.Open()
		plane      = machines.Node(0)
		node, last = plane.Addr.String(), machines.Node(1).Addr.String()
		endpoint   = "https://" + plane.KubernetesEndpoint()
		fresh      = filepath.Join(l.Dir, "new-talosconfig")
		old        = filepath.Join(l.Dir, "old-talosconfig")
		oldKube    = filepath.Join(l.Dir, "old-kubeconfig")
		p          = newPage(t, nil, "rotate-ca.md")
		line       = func(line string, instead ...string) []string { return strings.Fields(p.has(t, line, instead...)) }
		elsewhere  = line("rotate-ca --k8s-endpoint https://127.0.0.1:6443", "https://127.0.0.1:6443", endpoint)
	)

	for from, to := range map[string]string{machines.State().TalosconfigPath(): old, machines.State().KubeconfigPath(): oldKube} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	before := workloads(t, l)

	// Without --dry-run=false it changes nothing.
	stdout, _, err := l.Talosctl(time.Minute, append(line("rotate-ca"), "--talosconfig", old, "-n", node)...)
	if err != nil || !strings.Contains(stdout, "This was a dry run") || strings.Count(stdout, "knows only the old authority") != 4 {
		t.Fatalf("a dry run: got %v, want two nodes with two authorities that are as before", err)
	}

	var (
		machinesOld = repeated(t, "talosctl with the old talosconfig", l.Program, "version", "--talosconfig", old, "-n", last)
		clusterOld  = repeated(t, "kubectl with the old kubeconfig", l.Kubectl, "--kubeconfig", oldKube, "--request-timeout=10s", "get", "nodes")
		machinesNew *repetition
		clusterNew  *repetition
	)

	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()

	elsewhere = append(elsewhere, line("rotate-ca --dry-run=false --output talosconfig", "talosconfig", fresh)[1:]...)

	rotate := func(on map[string]func(*os.Process)) (string, error) {
		t.Helper()

		return rotateCA(ctx, t, l, on, append(elsewhere, "--talosconfig", old, "-n", node)...)
	}

	// The first run is interrupted when only the control plane issues with the new authorities.
	if _, err := rotate(map[string]func(*os.Process){
		`(?s)step 2 of 3.*node ` + regexp.QuoteMeta(node) + `: in effect`: func(p *os.Process) { p.Signal(os.Interrupt) }, // it may have ended
	}); err == nil {
		t.Fatal("the first run was not interrupted")
	}

	said, err := rotate(map[string]func(*os.Process){
		`the new talosconfig is in`: func(*os.Process) {
			machinesNew = repeated(t, "talosctl with the new talosconfig", l.Program, "version", "--talosconfig", fresh, "-n", last)
			newKubeconfig(t, l, line("kubeconfig --force"), fresh, node, endpoint)
			clusterNew = repeated(t, "kubectl with the new kubeconfig", l.Kubectl,
				"--kubeconfig", machines.State().KubeconfigPath(), "--request-timeout=10s", "get", "nodes")
		},
		// From here on the old ones are refused, once the node has it in effect.
		`step 3 of 3`: func(*os.Process) { machinesOld.end(); clusterOld.end() },
	})
	if err != nil {
		t.Fatal("the rotation is not complete")
	}

	// The signal may have come when the worker was already told.
	for _, want := range []string{
		regexp.QuoteMeta(node) + ` \(control plane\) issues with the new authority and accepts both\n`,
		regexp.QuoteMeta(last) + ` \(worker\) (accepts both authorities|issues with the new authority and accepts both)\n`,
	} {
		if found := regexp.MustCompile(want).FindAllString(said, -1); len(found) != 2 {
			t.Errorf("the second run finds %q, want %s for both authorities", found, want)
		}
	}

	for _, r := range []*repetition{machinesOld, clusterOld, machinesNew, clusterNew} {
		if r == nil {
			t.Fatal("the new talosconfig was not written before the rotation was complete")
		}

		r.end()
		t.Logf("%s: %d calls, %d repeated once, the longest %.1fs", r.name, r.calls, r.repeated, r.longest.Seconds())

		if len(r.lost) > 0 {
			t.Errorf("%s: %d of %d calls failed twice: %q", r.name, len(r.lost), r.calls, r.lost)
		}
	}

	if _, stderr, err := l.Talosctl(time.Minute, "version", "--talosconfig", old, "-n", node); err == nil {
		t.Errorf("the old talosconfig: got no error, want it refused; %s", stderr)
	}

	//program:built kubectl
	if got, err := exec.CommandContext(ctx, l.Kubectl, "--kubeconfig", oldKube, "--request-timeout=10s", "get", "nodes").CombinedOutput(); err == nil ||
		!strings.Contains(string(got), "logged in") && !strings.Contains(string(got), "Unauthorized") {
		t.Errorf("the old kubeconfig: got %v, %s, want it refused", err, got)
	}

	until(t, time.Minute, "the pods run that ran before", func() error {
		return samePods(before, workloads(t, l))
	})

	for _, address := range []string{node, last} {
		if _, _, err := l.Talosctl(time.Minute, "memory", "--talosconfig", fresh, "-n", address); err != nil {
			t.Error(err)
		}
	}

	if _, _, err := l.Talosctl(time.Minute, append(line("rotate-ca --revert --dry-run=false"), "--talosconfig", fresh, "-n", node)...); err == nil {
		t.Error("--revert after the rotation is complete: got no error")
	}

	freshSecrets(t, l, line("gen secrets --from-controlplane-config controlplane.yaml"), fresh, node)

	if len(p.left) > 0 {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}
}

// freshSecrets runs a command that takes the secrets for further machines from the configuration of a control plane, controlplane.yaml, and
// checks that they have the authorities of that.
func freshSecrets(t *testing.T, l *cluster.UserLab, command []string, talosconfig, node string) {
	t.Helper()

	text, _, err := l.Talosctl(time.Minute, "get", "machineconfig", "v1alpha1", "--talosconfig", talosconfig, "-n", node, "-o", "jsonpath={.spec}")
	if err != nil {
		t.Error(err)

		return
	}

	dir := t.TempDir()
	path := filepath.Join(dir, "secrets.yaml")
	command = append(command, "--output", path)

	for i, arg := range command {
		if arg == "controlplane.yaml" {
			command[i] = filepath.Join(dir, arg)

			if err := os.WriteFile(command[i], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}

	if _, _, err := l.Talosctl(time.Minute, command...); err != nil {
		t.Error(err)

		return
	}

	bundle, err := secrets.Load(path)
	if err != nil {
		t.Fatal(err)
	}

	if text, err := os.ReadFile(talosconfig); err != nil || !bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString(bundle.Certs.OS.Crt))) {
		t.Errorf("the new talosconfig (%v) does not have the authority of the secrets:\n%s", err, bundle.Certs.OS.Crt)
	}

	file, err := kubeconfig.Read(l.Open().State().KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}

	config, err := file.Config()
	if err != nil {
		t.Fatal(err)
	}

	// It was fetched during step 2, so it has the old one, too, as the second. The secrets have the bridge as the second.
	block, _ := pem.Decode(config.CA)
	if block == nil || !bytes.Contains(bundle.Certs.Kubernetes.Crt, pem.EncodeToMemory(block)) {
		t.Errorf("the secrets do not have the first authority of the new kubeconfig:\n%s", config.CA)
	}
}

// TestRotateCAOfThree does it with three control planes. It is interrupted in the last step, when the control planes differ in what they accept,
// and continued with the new talosconfig.
func TestRotateCAOfThree(t *testing.T) {
	cluster.Above(t, cluster.All, "runs four machines for ten minutes")

	l := cluster.NewUserLab(t, "e2e-rotate-ca-three")
	l.Create(15*time.Minute, "cluster", "create", "container", "--controlplanes", "3", "--workers", "1")

	var (
		machines = l.Open()
		nodes    []string
		endpoint = "https://" + machines.KubernetesEndpoint()
		fresh    = filepath.Join(l.Dir, "new-talosconfig")
	)

	for i := range 4 {
		nodes = append(nodes, machines.Node(i).Addr.String())
	}

	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()

	said, err := rotateCA(ctx, t, l, map[string]func(*os.Process){
		`(?s)step 3 of 3.*node ` + regexp.QuoteMeta(nodes[0]) + `: in effect`: func(p *os.Process) { p.Signal(os.Interrupt) }, // it may have ended
	}, "rotate-ca", "--dry-run=false", "--talosconfig", machines.State().TalosconfigPath(), "-n", nodes[0], "--k8s-endpoint", endpoint, "--output", fresh)
	if want := "--talosconfig " + fresh; err == nil || !strings.Contains(said, want) {
		t.Fatalf("the first run was not interrupted, or does not say %q: %v", want, err)
	}

	said, err = rotateCA(ctx, t, l, nil, "rotate-ca", "--dry-run=false", "--talosconfig", fresh, "-n", nodes[0], "--k8s-endpoint", endpoint, "--output", fresh)
	if err != nil {
		t.Fatal("the rotation is not complete")
	}

	for _, want := range []string{
		nodes[0] + " (control plane) accepts only the new authority\n", nodes[2] + " (control plane) issues with the new authority and accepts both\n",
	} {
		if strings.Count(said, want) != 2 {
			t.Errorf("the second run does not find %q for both authorities", want)
		}
	}

	for _, address := range nodes {
		if _, _, err := l.Talosctl(time.Minute, "memory", "--talosconfig", fresh, "-n", address); err != nil {
			t.Error(err)
		}
	}

	if _, _, err := l.Talosctl(time.Minute, "version", "--talosconfig", machines.State().TalosconfigPath(), "-n", nodes[0]); err == nil {
		t.Error("the old talosconfig: got no error, want it refused")
	}
}

// rotateCA runs talosctl rotate-ca without its pause, and calls functions with its process when its output matches.
func rotateCA(ctx context.Context, t *testing.T, l *cluster.UserLab, on map[string]func(*os.Process), args ...string) (string, error) {
	t.Helper()

	//program:built talosctl
	cmd := exec.CommandContext(ctx, l.Program, append(args, "--settle", "0s")...)
	out := &notifying{on: on, cmd: cmd}
	cmd.Stdout, cmd.Stderr = out, out

	began := time.Now()
	err := cmd.Run()
	t.Logf("talosctl rotate-ca: %v, after %.1fs\n%s", err, time.Since(began).Seconds(), out)

	return out.String(), err
}

// newKubeconfig replaces the lab's kubeconfig by one of the new authority, with a command that says neither where nor of which node.
func newKubeconfig(t *testing.T, l *cluster.UserLab, command []string, talosconfig, node, endpoint string) {
	t.Helper()

	path := l.Open().State().KubeconfigPath()

	if _, _, err := l.Talosctl(time.Minute, append(command, "--talosconfig", talosconfig, "-n", node, "--merge=false", path)...); err != nil {
		t.Error(err)

		return
	}

	file, err := kubeconfig.Read(path)
	if err != nil {
		t.Error(err)

		return
	}

	file.SetServer(endpoint)

	if err := kubeconfig.Write(path, file); err != nil {
		t.Error(err)
	}
}

// workloads returns the containers of pods that are not static, with their restarts.
func workloads(t *testing.T, l *cluster.UserLab) map[string]string {
	t.Helper()

	pods := map[string]string{}

	until(t, time.Minute, "Kubernetes lists the pods", func() error {
		text, err := kubectl(t.Context(), l, "", "get", "pods", "--all-namespaces", "-o",
			`jsonpath={range .items[?(@.metadata.ownerReferences[0].kind!="Node")]}{.metadata.name} {.status.containerStatuses[*].containerID} {.status.phase}{"\n"}{end}`)
		if err != nil {
			return err
		}

		clear(pods)

		for line := range strings.Lines(text) {
			name, running, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(name, "coredns-") { // one of them moves to another node
				continue
			}

			pods[name] = running
		}

		return nil
	})

	return pods
}

func samePods(before, now map[string]string) error {
	for name, running := range before {
		if now[name] != running {
			return fmt.Errorf("pod %s: got %q, want %q", name, now[name], running)
		}
	}

	return nil
}

// repetition calls a program again and again. A call that fails is repeated once.
type repetition struct {
	name            string
	calls, repeated int
	lost            []string
	longest         time.Duration // from the first failure of a call to its success, or the call itself
	end             func()        // may be called more than once
}

func repeated(t *testing.T, name, program string, args ...string) *repetition {
	ctx, cancel := context.WithCancel(t.Context())
	r, ended := &repetition{name: name}, make(chan struct{})

	call := func() (string, error) {
		//program:built talosctl
		out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()

		return strings.TrimSpace(string(out)), err
	}

	go func() {
		defer close(ended)

		for ctx.Err() == nil {
			began := time.Now()
			_, err := call()

			if err != nil && ctx.Err() == nil {
				r.repeated++

				if again, err := call(); err != nil && ctx.Err() == nil {
					r.lost = append(r.lost, time.Now().UTC().Format(time.TimeOnly)+" "+again)
				}
			}

			if ctx.Err() == nil {
				r.calls++
				r.longest = max(r.longest, time.Since(began))
			}
		}
	}()

	r.end = func() { cancel(); <-ended }
	t.Cleanup(func() { r.end() })

	return r
}

// notifying is the output of a command. It calls functions with its process, each once, when the output matches.
type notifying struct {
	text bytes.Buffer
	cmd  *exec.Cmd
	on   map[string]func(*os.Process)
}

// Write implements io.Writer.
func (n *notifying) Write(p []byte) (int, error) {
	n.text.Write(p)

	for pattern, call := range n.on {
		if regexp.MustCompile(pattern).Match(n.text.Bytes()) {
			delete(n.on, pattern)
			call(n.cmd.Process)
		}
	}

	return len(p), nil
}

func (n *notifying) String() string { return n.text.String() }
