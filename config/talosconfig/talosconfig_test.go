// SPDX-License-Identifier: Apache-2.0

package talosconfig_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

func TestExample(t *testing.T) {
	text := configtest.Talosconfig(t)

	c, err := talosconfig.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	context, err := c.Find("")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]byte(configtest.Bundle(t).Certs.OS.Crt), []byte(context.CA)); diff != "" {
		t.Errorf("ca (-want +got):\n%s", diff)
	}

	again, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(strings.TrimSpace(string(text)), strings.TrimSpace(string(again))); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
}

func TestAllKeys(t *testing.T) {
	c, err := talosconfig.Decode([]byte(`context: a
contexts:
    a:
        target: 10.5.0.2
        endpoints: []
        nodes: [10.5.0.3]
        auth:
            basic: {username: u, password: p}
            siderov1: {identity: me}
        cluster: demo
        proxy-url: http://127.0.0.1:8080
`))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"10.5.0.2"}, c.Contexts["a"].Dial()); diff != "" {
		t.Errorf("dial (-want +got):\n%s", diff)
	}
}

func TestMerge(t *testing.T) {
	one := func(endpoint string) *talosconfig.Context { return &talosconfig.Context{Endpoints: []string{endpoint}} }

	for _, test := range []struct {
		name        string
		into, other *talosconfig.Config
		want        *talosconfig.Config
		renames     []talosconfig.Rename
	}{
		{"into nothing", &talosconfig.Config{}, talosconfig.New("a", one("1")), talosconfig.New("a", one("1")), nil},
		{"the same again", talosconfig.New("a", one("1")), talosconfig.New("a", one("1")), talosconfig.New("a", one("1")), nil},
		{
			"another", talosconfig.New("a", one("1")), talosconfig.New("b", one("2")),
			&talosconfig.Config{Context: "b", Contexts: map[string]*talosconfig.Context{"a": one("1"), "b": one("2")}}, nil,
		},
		{
			"collision", talosconfig.New("a", one("1")), talosconfig.New("a", one("2")),
			&talosconfig.Config{Context: "a-1", Contexts: map[string]*talosconfig.Context{"a": one("1"), "a-1": one("2")}},
			[]talosconfig.Rename{{From: "a", To: "a-1"}},
		},
		{
			"second collision",
			&talosconfig.Config{Context: "a", Contexts: map[string]*talosconfig.Context{"a": one("1"), "a-1": one("2")}},
			talosconfig.New("a", one("3")),
			&talosconfig.Config{Context: "a-2", Contexts: map[string]*talosconfig.Context{"a": one("1"), "a-1": one("2"), "a-2": one("3")}},
			[]talosconfig.Rename{{From: "a", To: "a-2"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			renames := test.into.Merge(test.other)

			if diff := cmp.Diff(test.want, test.into); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(test.renames, renames); diff != "" {
				t.Errorf("renames (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config")
	c := talosconfig.New("a", &talosconfig.Context{Endpoints: []string{"10.5.0.2"}, CA: []byte("x")})

	for range 2 { // the second time replaces
		if err := c.Save(path); err != nil {
			t.Fatal(err)
		}
	}

	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	if got, want := info.Mode().Perm(), fs.FileMode(0o600); got != want {
		t.Errorf("mode: got %o, want %o", got, want)
	}

	got, err := talosconfig.Load(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}

	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("other files in the folder: got %v, %v, want none", entries, err)
	}
}

func TestSaveThroughLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")

	if err := errors.Join(os.WriteFile(real, nil, 0o600), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}

	if err := talosconfig.New("a", &talosconfig.Context{}).Save(link); err != nil {
		t.Fatal(err)
	}

	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
	}

	if c, err := talosconfig.Load(real); err != nil || c.Context != "a" {
		t.Errorf("target of the link: got %v, %v", c, err)
	}
}

func TestPath(t *testing.T) {
	t.Setenv(talosconfig.EnvPath, "")
	t.Setenv(talosconfig.EnvHome, "")
	t.Setenv("HOME", "/home/me")

	for _, test := range []struct{ name, given, env, home, want string }{
		{"given", "/g", "/e", "/h", "/g"},
		{"environment", "", "/e", "/h", "/e"},
		{"own home", "", "", "/h", "/h/config"},
		{"home", "", "", "", "/home/me/.talos/config"},
	} {
		t.Setenv(talosconfig.EnvPath, test.env)
		t.Setenv(talosconfig.EnvHome, test.home)

		got, err := talosconfig.Path(test.given)
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"not YAML", "a: [", "not YAML"},
		{"misspelt", "contxts: {}\n", `did you mean "contexts"?`},
		{"bad base64", "contexts: {a: {ca: '%'}}\n", "contexts.a.ca: not base64"},
		{"empty context", "contexts: {a: null}\n", `context "a" is empty`},
	} {
		if _, err := talosconfig.Decode([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}

	if _, err := talosconfig.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want %v", err, fs.ErrNotExist)
	}

	for name, want := range map[string]string{"": "no contexts", "b": "no contexts"} {
		if _, err := (&talosconfig.Config{}).Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("find %q: got %v", name, err)
		}
	}

	if _, err := talosconfig.New("a", &talosconfig.Context{}).Find("b"); err == nil || !strings.Contains(err.Error(), "want one of a") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(configtest.Talosconfig(f))
	f.Add([]byte("contexts: &a {a: *a}"))

	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := talosconfig.Decode(text)
		if err != nil {
			return
		}

		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}

		if _, err := talosconfig.Decode(again); err != nil {
			t.Fatalf("decode again: %v\n%s", err, again)
		}
	})
}
