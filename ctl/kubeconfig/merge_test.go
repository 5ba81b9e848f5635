// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/seed-59268b81/talos/ctl/kubeconfig"
)

// config has one cluster, with its user and context named as machines name them.
func config(cluster, server, token string) *api.Config {
	c := api.NewConfig()
	c.Clusters[cluster] = &api.Cluster{Server: server}
	c.AuthInfos["admin@"+cluster] = &api.AuthInfo{Token: token}
	c.Contexts["admin@"+cluster] = &api.Context{Cluster: cluster, AuthInfo: "admin@" + cluster}
	c.CurrentContext = "admin@" + cluster

	return c
}

func TestMerge(t *testing.T) {
	always := func(kubeconfig.Section, string) (bool, error) { return true, nil }

	for _, tt := range []struct {
		name     string
		into     *api.Config
		options  kubeconfig.Options
		clusters []string
		contexts []string
		current  string
		server   string // of the current context
		token    string // of the current context
		renames  []kubeconfig.Rename
	}{
		{
			name: "into nothing", into: api.NewConfig(),
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
				{Section: kubeconfig.Cluster, From: "demo", To: "demo-1"},
				{Section: kubeconfig.User, From: "admin@demo", To: "admin@demo-1"},
				{Section: kubeconfig.Context, From: "admin@demo", To: "admin@demo-1"},
			},
		},
		{
			name: "new certificate of the same cluster", into: config("demo", "new", "old"),
			clusters: []string{"demo"}, contexts: []string{"admin@demo", "admin@demo-1"}, current: "admin@demo-1", server: "new", token: "new",
			renames: []kubeconfig.Rename{
				{Section: kubeconfig.User, From: "admin@demo", To: "admin@demo-1"},
				{Section: kubeconfig.Context, From: "admin@demo", To: "admin@demo-1"},
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
				{Section: kubeconfig.Cluster, From: "demo", To: "demo-1"},
				{Section: kubeconfig.User, From: "admin@demo", To: "admin@demo-1"},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			renames, err := kubeconfig.Merge(tt.into, config("demo", "new", "new"), tt.options)
			if err != nil {
				t.Fatal(err)
			}

			current := tt.into.Contexts[tt.into.CurrentContext]
			got := []any{
				renames, slices.Sorted(maps.Keys(tt.into.Clusters)), slices.Sorted(maps.Keys(tt.into.Contexts)), tt.into.CurrentContext,
				tt.into.Clusters[current.Cluster].Server, tt.into.AuthInfos[current.AuthInfo].Token,
			}

			if diff := cmp.Diff([]any{tt.renames, tt.clusters, tt.contexts, tt.current, tt.server, tt.token}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeFails(t *testing.T) {
	two := config("demo", "new", "new")
	two.Contexts["second"] = &api.Context{}

	if _, err := kubeconfig.Merge(api.NewConfig(), two, kubeconfig.Options{ContextName: "mine"}); err == nil {
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

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "new", "config"), filepath.Join(dir, "link")

	empty, err := kubeconfig.Read(path)
	if err != nil || len(empty.Clusters) != 0 {
		t.Fatalf("a file that is not there: got %v, %v, want an empty kubeconfig", empty, err)
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
	if err != nil || got.Clusters["other"] == nil {
		t.Errorf("through the link: got %v, %v, want the cluster written", got, err)
	}

	if err := os.WriteFile(path, []byte("kind: Pod\napiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := kubeconfig.Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file of another kind: got %v, want an error that names it", err)
	}
}
