// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/folder"
)

// ownPrefix marks the system's files in the folder for manifests, where users may put their own.
const ownPrefix = "talos-"

// staticPodFolderController writes each static pod to a file for the kubelet. The kubelet accepts a list of pods as a whole or not at all;
// of the files in a folder it skips only those that are not valid. Only root reads the folder. The kubelet knows a pod by the name of its
// file, which does not change when a controller restarts.
func staticPodFolderController(root string) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.StaticPodServerController",
		Reads:          []controller.Input{controller.In[k8s.StaticPodSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[k8s.StaticPodServerStatusSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			pods, err := typed.List[k8s.StaticPodSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			files := map[string]folder.File{}

			for _, pod := range pods {
				if pod.Metadata().Phase() != resource.PhaseRunning {
					continue
				}

				text, err := json.Marshal(pod.TypedSpec().Pod)
				if err != nil {
					return fmt.Errorf("static pod %s: %w", pod.Metadata().ID(), err)
				}

				files[pod.Metadata().ID()+".json"] = folder.Private(text)
			}

			if err := writeStaticPods(root, files); err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", k8s.StaticPodServerID, k8s.StaticPodServerStatusSpec{URL: "file://" + kubelet.StaticPodsDir})
		},
	}
}

// writeStaticPods updates both folders: the system's own, and the one where users may put manifests too.
func writeStaticPods(root string, files map[string]folder.File) error {
	if err := folder.Write(root, folder.Folder{Path: kubelet.StaticPodsDir, Files: files}); err != nil {
		return err
	}

	shared := filepath.Join(root, kubelet.ManifestsDir)

	entries, err := os.ReadDir(shared)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("static pods: %w", err)
	}

	all := make(map[string]folder.File, len(files))
	for name, file := range files {
		all[ownPrefix+name] = file
	}

	for _, entry := range entries {
		name, own := strings.CutPrefix(entry.Name(), ownPrefix)
		if _, wanted := files[name]; !own || wanted {
			continue
		}

		if err := os.RemoveAll(filepath.Join(shared, entry.Name())); err != nil {
			return fmt.Errorf("static pods: %w", err)
		}
	}

	return folder.Add(root, folder.Folder{Path: kubelet.ManifestsDir, Files: all})
}
