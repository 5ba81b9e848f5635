// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/config/images"
)

// testFiles are files of the Kubernetes release, below test/images, for the test images, by name in the result.
var testFiles = map[string]string{
	"localhost.crt": "agnhost/porter/localhost.crt",
	"localhost.key": "agnhost/porter/localhost.key",
	"kitten.jpg":    "kitten/html/kitten.jpg",
	"kitten.json":   "kitten/html/data.json",
	"nautilus.jpg":  "nautilus/html/nautilus.jpg",
	"nautilus.json": "nautilus/html/data.json",
}

func testFilesStep(root string) graph.Step {
	return graph.Step{
		Name:  "test-files",
		About: "files of Kubernetes' test images " + images.KubernetesVersion,
		Inputs: func(context.Context, graph.Results) ([]string, error) {
			return []string{images.KubernetesVersion, fmt.Sprint(testFiles)}, nil
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			source, err := kubernetesSource(ctx, root)
			if err != nil {
				return err
			}

			for name, from := range testFiles {
				raw, err := os.ReadFile(filepath.Join(source, "test/images", from))
				if err != nil {
					return err
				}

				if err := os.WriteFile(filepath.Join(w.Dir, name), raw, 0o644); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// kubernetesSource downloads the Kubernetes release and returns its folder in Go's module cache.
func kubernetesSource(ctx context.Context, root string) (string, error) {
	dir := modulePath(root, "kubernetes")

	if _, err := output(ctx, dir, "go", "mod", "download", "k8s.io/kubernetes"); err != nil {
		return "", err
	}

	return ReleaseSource(ctx, root)
}

// ReleaseSource returns the folder of the Kubernetes release in Go's module cache, or "".
func ReleaseSource(ctx context.Context, root string) (string, error) {
	return output(ctx, modulePath(root, "kubernetes"), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
}
