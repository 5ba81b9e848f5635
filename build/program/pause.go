// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/config/images"
)

// pauseStep compiles the pause program from its source in the Kubernetes release.
func pauseStep(root string) graph.Step {
	flags := []string{"-Os", "-Wall", "-Werror", "-static", "-s", "-DVERSION=v" + images.PauseVersion}

	return graph.Step{
		Name:  "pause",
		About: "pause " + images.PauseVersion,
		Inputs: func(ctx context.Context, _ graph.Results) ([]string, error) {
			gcc, err := output(ctx, root, "gcc", "-dumpfullversion")

			return append([]string{images.KubernetesVersion, gcc}, flags...), err
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			source, err := kubernetesSource(ctx, root)
			if err != nil {
				return err
			}

			args := append(flags, "-o", filepath.Join(w.Dir, "pause"), filepath.Join(source, "build/pause/linux/pause.c"))
			if out, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput(); err != nil {
				return fmt.Errorf("gcc pause.c: %w\n%s", err, out)
			}

			return nil
		},
		Publish: map[string]string{"pause": artifact.Published.Component("pause")},
	}
}
