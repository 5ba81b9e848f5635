// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: monitoring
spec:
  template:
    spec:
      initContainers:
        - name: first
      containers:
        - name: main
          volumeMounts:
            - mountPath: /data
              name: data
---
apiVersion: v1
kind: Service
metadata:
  name: web
`

const injected = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: monitoring
spec:
  template:
    spec:
      containers:
        - name: main
          volumeMounts:
            - mountPath: /data
              name: data
            - mountPath: /var/run/secrets/talos.dev
              name: talos-secrets
              readOnly: true
      initContainers:
        - name: first
          volumeMounts:
            - mountPath: /var/run/secrets/talos.dev
              name: talos-secrets
              readOnly: true
      volumes:
        - name: talos-secrets
          secret:
            secretName: web-talos-secrets
---
apiVersion: talos.dev/v1alpha1
kind: ServiceAccount
metadata:
  name: web-talos-secrets
  namespace: monitoring
spec:
  roles:
    - os:reader
---
apiVersion: v1
kind: Service
metadata:
  name: web
`

// run runs talosctl inject serviceaccount.
func run(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()

	var out bytes.Buffer

	cmd := Command()
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"serviceaccount"}, args...))

	err := cmd.ExecuteContext(t.Context())

	return out.String(), err
}

func TestServiceAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(deployment), 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := run(t, "", "-f", path, "-r", "os:reader")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(injected, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// A second run changes nothing but the roles.
	if again, err := run(t, got, "-f", "-"); err != nil || again != got {
		t.Errorf("again: %v (-want +got):\n%s", err, cmp.Diff(got, again))
	}

	more, err := run(t, got, "-f", "-", "-r", "os:reader,os:operator")
	if want := strings.Replace(injected, "    - os:reader\n", "    - os:reader\n    - os:operator\n", 1); err != nil || more != want {
		t.Errorf("more roles: %v (-want +got):\n%s", err, cmp.Diff(want, more))
	}
}

func TestKinds(t *testing.T) {
	const pod = "{containers: [{name: a}]}"

	for kind, spec := range map[string]string{
		"Pod": pod, "DaemonSet": "{template: {spec: " + pod + "}}", "Job": "{template: {spec: " + pod + "}}",
		"CronJob": "{jobTemplate: {spec: {template: {spec: " + pod + "}}}}",
	} {
		got, err := run(t, "{apiVersion: v1, kind: "+kind+", metadata: {name: a}, spec: "+spec+"}", "-f", "-")
		if err != nil || !strings.Contains(got, "secretName: a-talos-secrets") || !strings.Contains(got, "kind: ServiceAccount") {
			t.Errorf("%s: got %v\n%s", kind, err, got)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"no pods":              {"{apiVersion: v1, kind: Service, metadata: {name: a}}", nil, "no object with pods"},
		"nothing":              {"", nil, "no object with pods"},
		"not YAML":             {"a: [", nil, "document 1"},
		"a pod without a name": {"{kind: Pod, spec: {}}", nil, `Pod "": want metadata.name`},
		"a role that is none":  {deployment, []string{"-r", "os:impersonator"}, `"os:impersonator" is not known`},
		"no file":              {"", []string{"-f", "/nonexistent"}, "read manifest"},
	} {
		if _, err := run(t, tt.in, append([]string{"-f", "-"}, tt.args...)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzServiceAccounts(f *testing.F) {
	f.Add([]byte(deployment))
	f.Add([]byte(injected))
	f.Add([]byte("{kind: Pod, metadata: {name: a}, spec: {containers: [5], volumes: [x]}}"))

	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := ServiceAccounts(text, []string{"os:reader"})
		if err != nil {
			return
		}

		again, err := ServiceAccounts(out, []string{"os:reader"})
		if err != nil || !bytes.Equal(out, again) {
			t.Errorf("a second run: %v\n%s\n%s", err, out, again)
		}
	})
}
