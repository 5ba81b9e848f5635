// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/source"
)

// rootfsSources are the sources that build the tree.
var rootfsSources = []string{"rootfs.go", "debian/selection.go", "graph/tree.go"}

// rootfsSets are the sets of Debian's files in the tree.
var rootfsSets = []string{"host-files", "certificates"}

// rootfsStep creates the tree of third-party files for the root image.
func rootfsStep(root string) graph.Step {
	return graph.Step{
		Name:   artifact.TargetRootfs,
		About:  "third-party files of the root image",
		Needs:  append([]string{"containerd", "runc", "cni", "flannel-cni"}, rootfsSets...),
		Inputs: source.Inputs(root, rootfsSources),
		Run: func(_ context.Context, w *graph.Work) error {
			if err := debian.MergeUsr(w.Dir); err != nil {
				return err
			}

			for need, into := range map[string]string{
				"containerd": "usr/bin", "runc": "usr/bin",
				"cni": "opt/cni/bin", "flannel-cni": "opt/cni/bin",
				"host-files": ".", "certificates": ".",
			} {
				target := filepath.Join(w.Dir, into)
				if err := os.MkdirAll(target, 0o755); err != nil {
					return err
				}

				if err := graph.LinkTree(w.Needs[need].Dir, target); err != nil {
					return err
				}
			}

			return nil
		},
		Publish: map[string]string{".": artifact.Published.Rootfs()},
	}
}
