// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
)

func TestApplyConfig(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "controlplane.yaml")
	empty := filepath.Join(dir, "empty.yaml")
	wrong := filepath.Join(dir, "wrong.yaml")

	for path, content := range map[string]string{config: "version: v1alpha1 # kept\nmachine:\n    type: controlplane\n", empty: "\n", wrong: "version: v9\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		name    string
		args    []string
		exit    int
		stderr  string
		mode    machine.ApplyConfigurationRequest_Mode
		timeout time.Duration
		dryRun  bool
	}{
		{name: "auto", args: []string{"-f", config}, stderr: "WARNING: machine.logging has no effect yet\nApplied configuration without a reboot\n", mode: machine.ApplyConfigurationRequest_AUTO},
		{name: "try", args: []string{"-f", config, "-m", "try", "--timeout", "2m"}, mode: machine.ApplyConfigurationRequest_TRY, timeout: 2 * time.Minute},
		{name: "staged dry run", args: []string{"-f", config, "-m", "staged", "--dry-run"}, mode: machine.ApplyConfigurationRequest_STAGED, dryRun: true},
		{name: "no file", args: nil, exit: 1, stderr: `required flag(s) "file" not set`},
		{name: "empty file", args: []string{"-f", empty}, exit: 1, stderr: "empty.yaml is empty"},
		{name: "missing file", args: []string{"-f", config + ".not"}, exit: 1, stderr: "no such file"},
		{name: "mode", args: []string{"-f", config, "-m", "reboot"}, exit: 1, stderr: "want auto, no-reboot, staged or try"},
		{name: "refused", args: []string{"-f", wrong}, exit: 1, stderr: "error: 172.20.0.2: apply configuration: configuration: document 1: version is not v1alpha1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := newNode("172.20.0.2")
			s := clienttest.Start(t, map[string]*clienttest.Node{"172.20.0.2": node})
			r := talosctl(t, s, append([]string{"apply-config", "-n", "172.20.0.2"}, tt.args...)...)

			if r.exit != tt.exit || !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("got exit status %d and %q, want %d and %q", r.exit, r.stderr, tt.exit, tt.stderr)
			}

			if tt.exit != 0 {
				return
			}

			got := node.Applied()
			if got.GetMode() != tt.mode || got.GetTryModeTimeout().AsDuration() != tt.timeout || got.GetDryRun() != tt.dryRun {
				t.Errorf("got request %v", got)
			}

			if !strings.Contains(string(got.GetData()), "# kept") {
				t.Errorf("got configuration %q, want it as it is in the file", got.GetData())
			}
		})
	}
}

func TestInsecure(t *testing.T) {
	s := clienttest.StartMaintenance(t, newNode("172.20.0.2"))
	sum := sha256.Sum256(s.Certificate.Leaf.Raw)
	right, wrong := hex.EncodeToString(sum[:]), strings.Repeat("00", sha256.Size)

	t.Setenv("TALOSCONFIG", filepath.Join(t.TempDir(), "none"))

	for _, tt := range []struct {
		name   string
		args   []string
		exit   int
		stderr string
	}{
		{name: "any certificate", args: []string{"-i"}},
		{name: "pinned", args: []string{"-i", "--cert-fingerprint", right}},
		{name: "pinned wrong", args: []string{"-i", "--cert-fingerprint", wrong}, exit: 1, stderr: "has fingerprint " + right},
		{name: "pinned nonsense", args: []string{"-i", "--cert-fingerprint", "abc"}, exit: 1, stderr: `"abc" is not a SHA-256 sum`},
		{name: "no client configuration", args: nil, exit: 1, stderr: "--insecure for a machine in maintenance"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t.Context(), append([]string{"memory", "-n", s.Endpoint}, tt.args...)...)
			if r.exit != tt.exit || !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("got exit status %d and %q, want %d and %q", r.exit, r.stderr, tt.exit, tt.stderr)
			}
		})
	}
}

func TestBootstrapOnce(t *testing.T) {
	s := startCluster(t)

	if r := talosctl(t, s, "bootstrap", "-n", "172.20.0.2"); r.exit != 0 {
		t.Errorf("the first: got %+v", r)
	}

	if r := talosctl(t, s, "bootstrap", "-n", "172.20.0.2"); r.exit != 1 || !strings.Contains(r.stderr, "172.20.0.2: bootstrap: etcd data directory is not empty") {
		t.Errorf("the second: got %+v, want the node's refusal", r)
	}
}

func TestForeignCluster(t *testing.T) {
	s, other := startCluster(t), startCluster(t)
	s.Context.CA = other.Context.CA

	if r := talosctl(t, s, "memory"); r.exit != 1 || !strings.Contains(r.stderr, "try: the machine belongs to another cluster") {
		t.Errorf("with another CA: got %+v, want an explanation", r)
	}

	s = startCluster(t)
	s.Context.Crt, s.Context.Key = other.Context.Crt, other.Context.Key

	if r := talosctl(t, s, "memory"); r.exit != 1 || !strings.Contains(r.stderr, "try: the machine does not accept the talosconfig's certificate") {
		t.Errorf("with a certificate of another CA: got %+v, want an explanation", r)
	}
}

func TestApplyConfigPatches(t *testing.T) {
	dir := t.TempDir()

	if r := run(t.Context(), "gen", "config", "demo", "https://172.20.0.2:6443", "--talos-version", "v1.12", "-o", dir); r.exit != 0 {
		t.Fatalf("gen config: %+v", r)
	}

	patch := filepath.Join(dir, "patch.yaml")
	if err := os.WriteFile(patch, []byte("machine:\n    nodeLabels:\n        from: file\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	node := newNode("172.20.0.2")
	s := clienttest.Start(t, map[string]*clienttest.Node{"172.20.0.2": node})
	apply := []string{"apply-config", "-n", "172.20.0.2", "-f", filepath.Join(dir, "controlplane.yaml")}

	r := talosctl(t, s, append(apply, "-p", "@"+patch, "-p", `[{"op": "add", "path": "/machine/nodeLabels/also", "value": "json"}]`)...)
	if r.exit != 0 {
		t.Fatalf("apply-config: %+v", r)
	}

	for _, want := range []string{"from: file", "also: json"} {
		if !strings.Contains(string(node.Applied().GetData()), want) {
			t.Errorf("the patched configuration lacks %q:\n%s", want, node.Applied().GetData())
		}
	}

	if r := talosctl(t, s, append(apply, "-p", "machine:\n    unknown: 1\n")...); r.exit != 1 || !strings.Contains(r.stderr, "unknown") {
		t.Errorf("a patch with an unknown key: got %+v, want a refusal that names it", r)
	}
}
