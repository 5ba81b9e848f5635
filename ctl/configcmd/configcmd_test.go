// SPDX-License-Identifier: Apache-2.0

package configcmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/ctl/configcmd"
	"github.com/seed-59268b81/talos/ctl/session"
)

// run runs a command of the package as the root would.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()

	var out, errs bytes.Buffer

	root := &cobra.Command{Use: "talosctl", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(configcmd.Commands(&session.Session{})...)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)

	err = root.Execute()

	return out.String(), errs.String(), err
}

func must(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()

	stdout, stderr, err := run(t, "", args...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}

	return stdout, stderr
}

// home returns a directory with the example's client configuration in a file, and sets an empty TALOSCONFIG.
func home(t *testing.T) (other string) {
	t.Helper()

	dir := t.TempDir()
	other = filepath.Join(dir, "other")

	t.Setenv(talosconfig.EnvPath, filepath.Join(dir, "config"))

	if err := os.WriteFile(other, configtest.Talosconfig(t), 0o600); err != nil {
		t.Fatal(err)
	}

	return other
}

func contexts(t *testing.T) string {
	t.Helper()

	stdout, _ := must(t, "config", "contexts")

	return stdout
}

func TestContexts(t *testing.T) {
	other := home(t)

	must(t, "config", "merge", other)
	must(t, "config", "endpoint", "10.5.0.2", "10.5.0.3")
	must(t, "config", "nodes", "10.5.0.2,10.5.0.3")

	if diff := cmp.Diff(`CURRENT   NAME   ENDPOINTS           NODES
*         demo   10.5.0.2,10.5.0.3   10.5.0.2,10.5.0.3
`, contexts(t)); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}

	if _, stderr := must(t, "config", "merge", other); !strings.Contains(stderr, `renamed talosconfig context "demo" -> "demo-1"`) {
		t.Errorf("merge: got %q", stderr)
	}

	must(t, "config", "context", "demo")
	must(t, "config", "node")
	must(t, "config", "endpoint", "10.9.0.1", "--context", "demo-1")

	if diff := cmp.Diff(`CURRENT   NAME     ENDPOINTS           NODES
*         demo     10.5.0.2,10.5.0.3   
          demo-1   10.9.0.1            
`, contexts(t)); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
}

func TestProxyURL(t *testing.T) {
	must(t, "config", "merge", home(t))
	must(t, "config", "proxy-url", "http://name:secret@proxy.internal:3128")

	if got, _ := must(t, "config", "info"); !strings.Contains(got, "Proxy URL:           http://name:xxxxx@proxy.internal:3128\n") {
		t.Errorf("info: got\n%s", got)
	}

	if _, _, err := run(t, "", "config", "proxy-url", "proxy:3128"); err == nil || !strings.Contains(err.Error(), "http://, https:// or socks5://") {
		t.Errorf("a bad URL: got %v", err)
	}

	if text, err := os.ReadFile(os.Getenv(talosconfig.EnvPath)); err != nil || !strings.Contains(string(text), "proxy-url: http://name:secret@proxy.internal:3128") {
		t.Errorf("the file: got %v\n%s", err, text)
	}

	must(t, "config", "proxy-url")

	if got, _ := must(t, "config", "info"); strings.Contains(got, "Proxy") {
		t.Errorf("cleared: got\n%s", got)
	}
}

func TestRemove(t *testing.T) {
	other := home(t)

	must(t, "config", "merge", other)
	must(t, "config", "endpoint", "10.5.0.2")
	must(t, "config", "merge", other)

	if _, stderr := must(t, "config", "remove", "demo*", "--dry-run"); strings.Count(stderr, "would remove context") != 2 {
		t.Errorf("dry run: got %q", stderr)
	}

	if _, _, err := run(t, "n\n", "config", "remove", "demo-1"); err != nil || !strings.Contains(contexts(t), "demo-1") {
		t.Errorf("answer no: got %v and\n%s", err, contexts(t))
	}

	if _, _, err := run(t, "y\n", "config", "remove", "demo-1"); err != nil || strings.Contains(contexts(t), "demo-1") {
		t.Errorf("answer yes: got %v and\n%s", err, contexts(t))
	}

	if got := contexts(t); !strings.Contains(got, "*         demo") {
		t.Errorf("the other context is not current: got\n%s", got)
	}

	must(t, "config", "remove", "demo", "-y")

	if got := contexts(t); strings.Contains(got, "demo") {
		t.Errorf("got\n%s", got)
	}
}

func TestRename(t *testing.T) {
	other := home(t)

	must(t, "config", "merge", other)
	must(t, "config", "endpoint", "10.5.0.2")
	must(t, "config", "merge", other)
	must(t, "config", "context", "demo-1")
	must(t, "config", "rename", "demo-1", "lab")

	if got := contexts(t); !strings.Contains(got, "*         lab") || strings.Contains(got, "demo-1") {
		t.Errorf("got\n%s\nwant lab, as the current context", got)
	}

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"lab", "demo"}, "already"},
		{[]string{"none", "some"}, `no context "none"`},
		{[]string{"lab", ""}, "is empty"},
	} {
		if _, _, err := run(t, "", append([]string{"config", "rename"}, test.args...)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %q in it", test.args, err, test.want)
		}
	}
}

func TestInfo(t *testing.T) {
	must(t, "config", "merge", home(t))
	must(t, "config", "endpoint", "10.5.0.2")

	stdout, _ := must(t, "config", "info")

	for _, want := range []string{"Current context:", "demo", "Nodes:", "not defined", "10.5.0.2", "Roles:", "os:admin", "Certificate expires: 10 years from now"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("info: got\n%s\nwant %q in it", stdout, want)
		}
	}

	stdout, _ = must(t, "config", "info", "-o", "json")

	var got struct {
		Context   string
		Endpoints []string
		Roles     []string
	}

	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Context != "demo" || len(got.Endpoints) != 1 || got.Roles[0] != "os:admin" {
		t.Errorf("json: got %+v, %v", got, err)
	}

	if stdout, _ := must(t, "config", "info", "-o", "yaml"); !strings.Contains(stdout, "context: demo") {
		t.Errorf("yaml: got %s", stdout)
	}
}

func TestAdd(t *testing.T) {
	home(t)

	dir := t.TempDir()
	certs := configtest.Bundle(t).Certs

	c, err := talosconfig.Decode(configtest.Talosconfig(t))
	if err != nil {
		t.Fatal(err)
	}

	ca, crt, key := filepath.Join(dir, "ca"), filepath.Join(dir, "crt"), filepath.Join(dir, "key")

	if err := errors.Join(os.WriteFile(ca, certs.OS.Crt, 0o600), os.WriteFile(crt, c.Contexts["demo"].Crt, 0o600), os.WriteFile(key, c.Contexts["demo"].Key, 0o600)); err != nil {
		t.Fatal(err)
	}

	must(t, "config", "add", "mine", "--ca", ca, "--crt", crt, "--key", key)

	if got := contexts(t); !strings.Contains(got, "*         mine") {
		t.Errorf("got\n%s", got)
	}

	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"again", []string{"mine", "--ca", ca, "--crt", crt, "--key", key}, "already"},
		{"wrong key", []string{"other", "--ca", ca, "--crt", ca, "--key", key}, "do not belong together"},
		{"no file", []string{"other", "--ca", ca, "--crt", crt, "--key", "/none"}, "/none"},
	} {
		if _, _, err := run(t, "", append([]string{"config", "add"}, test.args...)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	other := home(t)

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"info"}, "no contexts"},
		{[]string{"endpoint", "1"}, "no contexts"},
		{[]string{"context", "x"}, "no contexts"},
		{[]string{"merge", "/none"}, "/none"},
		{[]string{"remove", "x"}, "no context matches"},
		{[]string{"info", "--talosconfig", other, "-o", "xml"}, "want text, json or yaml"},
		{[]string{"info", "--talosconfig", other, "--context", "x"}, `no context "x"`},
	} {
		if _, _, err := run(t, "", append([]string{"config"}, test.args...)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %q in it", test.args, err, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	text := string(configtest.ControlPlane(t))

	stdout, stderr, err := run(t, text, "validate", "-c", "-", "-m", "metal")
	if err != nil {
		t.Fatal(err)
	}

	if want := "- is valid for metal mode\n"; stdout != want {
		t.Errorf("got %q, want %q", stdout, want)
	}

	if !strings.Contains(stderr, "machine.features.diskQuotaSupport: accepted, but has no effect") {
		t.Errorf("warnings: got %q", stderr)
	}

	for _, test := range []struct {
		name, text, mode, want string
		strict                 bool
	}{
		{"warnings, strictly", text, "metal", "errors with --strict", true},
		{"bad mode", text, "moon", "--mode", false},
		{"bad text", "machine: {tipe: x}", "metal", "unknown key", false},
		{"not valid", "machine: {type: worker}", "metal", "machine.token: is missing", false},
		{"nothing", "", "metal", "is empty", false},
	} {
		args := []string{"validate", "-c", "-", "-m", test.mode}
		if test.strict {
			args = append(args, "--strict")
		}

		if _, _, err := run(t, test.text, args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}
}
