// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// config has one cluster, with the names that machines give its user and context.
func config(cluster, server, token string) *kubeconfig.File {
	user := "admin@" + cluster

	return &kubeconfig.File{
		Clusters:       []kubeconfig.Entry{{Name: cluster, Cluster: &kubeconfig.Cluster{Server: server}}},
		Users:          []kubeconfig.Entry{{Name: user, User: &kubeconfig.User{Token: token}}},
		Contexts:       []kubeconfig.Entry{{Name: user, Context: &kubeconfig.Context{Cluster: cluster, User: user}}},
		CurrentContext: user,
	}
}

func names(entries []kubeconfig.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name)
	}

	slices.Sort(out)

	return out
}

func TestMerge(t *testing.T) {
	always := func(kubeconfig.Section, string) (bool, error) { return true, nil }

	for _, tt := range []struct {
		name     string
		into     *kubeconfig.File
		options  kubeconfig.Options
		clusters []string
		contexts []string
		current  string
		server   string // of the current context
		token    string // of the current context
		renames  []kubeconfig.Rename
	}{
		{
			name: "into nothing", into: &kubeconfig.File{},
			clusters: []string{"demo"}, contexts: []string{"admin@demo"}, current: "admin@demo", server: "new", token: "new",
		},
		{
			name: "again", into: config("demo", "new", "new"),
			clusters: []string{"demo"}, contexts: []string{"admin@demo"}, current: "admin@demo", server: "new", token: "new",
		},
		{
			name: "beside another", into: config("other", "old", "old"),
			clusters: []string{"demo", "other"}, contexts: []string{"admin@demo", "admin@other"}, current: "admin@demo", server: "new", token: "new",
		},
		{
			name: "all names taken", into: config("demo", "old", "old"),
			clusters: []string{"demo", "demo-1"}, contexts: []string{"admin@demo", "admin@demo-1"}, current: "admin@demo-1", server: "new", token: "new",
			renames: []kubeconfig.Rename{
				{Section: kubeconfig.ClusterSection, From: "demo", To: "demo-1"},
				{Section: kubeconfig.UserSection, From: "admin@demo", To: "admin@demo-1"},
				{Section: kubeconfig.ContextSection, From: "admin@demo", To: "admin@demo-1"},
			},
		},
		{
			name: "new certificate of the same cluster", into: config("demo", "new", "old"),
			clusters: []string{"demo"}, contexts: []string{"admin@demo", "admin@demo-1"}, current: "admin@demo-1", server: "new", token: "new",
			renames: []kubeconfig.Rename{
				{Section: kubeconfig.UserSection, From: "admin@demo", To: "admin@demo-1"},
				{Section: kubeconfig.ContextSection, From: "admin@demo", To: "admin@demo-1"},
			},
		},
		{
			name: "overwrite", into: config("demo", "old", "old"), options: kubeconfig.Options{Overwrite: always},
			clusters: []string{"demo"}, contexts: []string{"admin@demo"}, current: "admin@demo", server: "new", token: "new",
		},
		{
			name: "name of the context", into: config("demo", "old", "old"), options: kubeconfig.Options{ContextName: "mine"},
			clusters: []string{"demo", "demo-1"}, contexts: []string{"admin@demo", "mine"}, current: "mine", server: "new", token: "new",
			renames: []kubeconfig.Rename{
				{Section: kubeconfig.ClusterSection, From: "demo", To: "demo-1"},
				{Section: kubeconfig.UserSection, From: "admin@demo", To: "admin@demo-1"},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			renames, err := kubeconfig.Merge(tt.into, config("demo", "new", "new"), tt.options)
			if err != nil {
				t.Fatal(err)
			}

			current, err := tt.into.Config()
			if err != nil {
				t.Fatal(err)
			}

			got := []any{renames, names(tt.into.Clusters), names(tt.into.Contexts), tt.into.CurrentContext, current.Server, current.Token}

			if diff := cmp.Diff([]any{tt.renames, tt.clusters, tt.contexts, tt.current, tt.server, tt.token}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeFails(t *testing.T) {
	two := config("demo", "new", "new")
	two.Contexts = append(two.Contexts, kubeconfig.Entry{Name: "second", Context: &kubeconfig.Context{}})

	if _, err := kubeconfig.Merge(&kubeconfig.File{}, two, kubeconfig.Options{ContextName: "mine"}); err == nil {
		t.Error("one name for two contexts: got no error")
	}

	refuse := errors.New("refused")

	_, err := kubeconfig.Merge(config("demo", "old", "old"), config("demo", "new", "new"), kubeconfig.Options{
		Overwrite: func(kubeconfig.Section, string) (bool, error) { return false, refuse },
	})
	if !errors.Is(err, refuse) {
		t.Errorf("got %v, want the error of Overwrite", err)
	}
}

// TestMergeKeeps checks that unknown fields of the user's file are kept, and that entries that differ only in extensions count as the same.
func TestMergeKeeps(t *testing.T) {
	const before = `# comments are lost
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- {name: cloud, cluster: {server: "https://c", insecure-skip-tls-verify: true, extensions: [{name: x, extension: {last-update: today}}]}}
- {name: demo, cluster: {server: new, extensions: [{name: z, extension: {version: v1.2}}]}}
users:
- {name: cloud, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: ["--id", "007"], env: null}}}
- {name: digits, user: {token: 0123}}
contexts: null
`

	into, err := kubeconfig.ParseFile([]byte(before))
	if err != nil {
		t.Fatal(err)
	}

	if renames, err := kubeconfig.Merge(into, config("demo", "new", "new"), kubeconfig.Options{}); err != nil || len(renames) > 0 {
		t.Fatalf("got renames %v, %v; want none", renames, err)
	}

	path := filepath.Join(t.TempDir(), "config")
	if err := kubeconfig.Write(path, into); err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	const want = `apiVersion: v1
kind: Config
clusters:
- name: cloud
  cluster:
    server: https://c
    extensions:
    - extension:
        last-update: today
      name: x
    insecure-skip-tls-verify: true
- name: demo
  cluster:
    server: new
    extensions:
    - extension:
        version: v1.2
      name: z
users:
- name: cloud
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - --id
      - '007'
      command: login
      env: null
- name: digits
  user:
    token: '0123'
- name: admin@demo
  user:
    token: new
contexts:
- name: admin@demo
  context:
    cluster: demo
    user: admin@demo
current-context: admin@demo
preferences:
  colors: true
`

	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadAndWrite(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "new", "config"), filepath.Join(dir, "link")

	empty, err := kubeconfig.Read(path)
	if err != nil || len(empty.Clusters) != 0 {
		t.Fatalf("a missing file: got %v, %v, want an empty kubeconfig", empty, err)
	}

	if err := kubeconfig.Write(path, config("demo", "new", "new")); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}

	if err := kubeconfig.Write(link, config("other", "new", "new")); err != nil {
		t.Fatal(err)
	}

	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v, want it to stay a link", info.Mode(), err)
	}

	got, err := kubeconfig.Read(path)
	if err != nil || !slices.Equal(names(got.Clusters), []string{"other"}) {
		t.Errorf("through the link: got %v, %v, want the cluster written", got, err)
	}

	if err := os.WriteFile(path, []byte("kind: Pod\napiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := kubeconfig.Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file of another kind: got %v, want an error that names it", err)
	}
}
