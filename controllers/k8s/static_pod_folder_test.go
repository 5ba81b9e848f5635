// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/sys/folder"
)

// TestWriteStaticPods checks that the system's folder has only the system's pods, and that manifests of users stay in the other folder.
func TestWriteStaticPods(t *testing.T) {
	root := t.TempDir()
	own, shared := filepath.Join(root, kubelet.StaticPodsDir), filepath.Join(root, kubelet.ManifestsDir)

	for _, dir := range []string{own, shared} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, "stranger.yaml"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	file := func(text string) folder.File { return folder.Private([]byte(text)) }

	for _, step := range []struct {
		files       map[string]folder.File
		own, shared []string
	}{
		{
			files: map[string]folder.File{"a.json": file("1"), "b.json": file("2")},
			own:   []string{"a.json", "b.json"}, shared: []string{"stranger.yaml", "talos-a.json", "talos-b.json"},
		},
		{files: map[string]folder.File{"a.json": file("3")}, own: []string{"a.json"}, shared: []string{"stranger.yaml", "talos-a.json"}},
		{own: nil, shared: []string{"stranger.yaml"}},
	} {
		if err := writeStaticPods(root, step.files); err != nil {
			t.Fatal(err)
		}

		for dir, want := range map[string][]string{own: step.own, shared: step.shared} {
			if diff := cmp.Diff(want, names(t, dir)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", dir, diff)
			}
		}
	}

	info, err := os.Stat(own)
	if err != nil {
		t.Fatal(err)
	}

	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("the folder of static pods: got mode %o, want 700", got)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, entry := range entries {
		out = append(out, entry.Name())
	}

	slices.Sort(out)

	return out
}
